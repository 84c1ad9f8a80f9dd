'use strict';
// Event, CustomEvent, MessageEvent and EventTarget.
const { DOMException } = internal.lazy('web/dom-exception');

const kState = Symbol('event');

class Event {
  constructor(type, init = {}) {
    if (arguments.length === 0) throw internal.codedError('ERR_MISSING_ARGS', 'The "type" argument must be specified', TypeError);
    const { bubbles = false, cancelable = false, composed = false } = init ?? {};
    Object.defineProperty(this, kState, {
      value: {
        type: String(type), bubbles: Boolean(bubbles), cancelable: Boolean(cancelable), composed: Boolean(composed), target: null,
        isDispatching: false, isPrevented: false, isStopped: false, isStoppedAtOnce: false, isPassive: false, timeStamp: host.elapsed(),
      },
    });
  }

  get type() { return this[kState].type; }
  get target() { return this[kState].target; }
  get currentTarget() { return this[kState].isDispatching ? this[kState].target : null; }
  get srcElement() { return this[kState].target; }
  get bubbles() { return this[kState].bubbles; }
  get cancelable() { return this[kState].cancelable; }
  get composed() { return this[kState].composed; }
  get defaultPrevented() { return this[kState].isPrevented; }
  get returnValue() { return !this[kState].isPrevented; }
  get cancelBubble() { return this[kState].isStopped; }
  set cancelBubble(value) { if (value) this[kState].isStopped = true; }
  get timeStamp() { return this[kState].timeStamp; }
  get eventPhase() { return this[kState].isDispatching ? Event.AT_TARGET : Event.NONE; }
  get isTrusted() { return false; }

  composedPath() { return this[kState].isDispatching ? [this[kState].target] : []; }
  preventDefault() { if (this.cancelable && !this[kState].isPassive) this[kState].isPrevented = true; }
  stopPropagation() { this[kState].isStopped = true; }
  stopImmediatePropagation() { this[kState].isStopped = this[kState].isStoppedAtOnce = true; }

  get [Symbol.toStringTag]() { return 'Event'; }
}
for (const [name, value] of Object.entries({ NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 })) {
  Object.defineProperty(Event, name, { value, enumerable: true });
  Object.defineProperty(Event.prototype, name, { value, enumerable: true });
}

class CustomEvent extends Event {
  #detail;
  constructor(type, init = {}) {
    super(type, init);
    this.#detail = init?.detail ?? null;
  }
  get detail() { return this.#detail; }
  get [Symbol.toStringTag]() { return 'CustomEvent'; }
}

class MessageEvent extends Event {
  #init;
  constructor(type, init = {}) {
    super(type, init);
    this.#init = init ?? {};
  }
  get data() { return this.#init.data ?? null; }
  get origin() { return this.#init.origin ?? ''; }
  get lastEventId() { return this.#init.lastEventId ?? ''; }
  get source() { return this.#init.source ?? null; }
  get ports() { return this.#init.ports ?? []; }
  get [Symbol.toStringTag]() { return 'MessageEvent'; }
}

const isCapture = (options) => Boolean(typeof options === 'object' && options !== null ? options.capture : options);

class EventTarget {
  #listeners = new Map();

  addEventListener(type, listener, options = {}) {
    if (arguments.length < 2) throw internal.codedError('ERR_MISSING_ARGS', 'The "type" and "listener" arguments must be specified', TypeError);
    if (listener === null || listener === undefined) return;
    if (typeof listener !== 'function' && typeof listener !== 'object') {
      throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "listener" argument must be an instance of EventListener.', TypeError);
    }
    const { once = false, passive = false, signal } = typeof options === 'object' && options !== null ? options : {};
    if (signal?.aborted) return;
    const capture = isCapture(options);
    const name = String(type);
    const known = this.#listeners.get(name) ?? [];
    if (known.some((entry) => entry.listener === listener && entry.capture === capture)) return;
    this.#listeners.set(name, [...known, { listener, capture, once: Boolean(once), passive: Boolean(passive) }]);
    signal?.addEventListener('abort', () => this.removeEventListener(name, listener, { capture }), { once: true });
  }

  removeEventListener(type, listener, options = {}) {
    const name = String(type);
    const capture = isCapture(options);
    const rest = (this.#listeners.get(name) ?? []).filter((entry) => entry.listener !== listener || entry.capture !== capture);
    if (rest.length > 0) this.#listeners.set(name, rest);
    else this.#listeners.delete(name);
  }

  dispatchEvent(event) {
    if (!(event instanceof Event)) throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "event" argument must be an instance of Event.', TypeError);
    const state = event[kState];
    if (state.isDispatching) throw new DOMException('The event is already being dispatched', 'InvalidStateError');
    state.target = this;
    state.isDispatching = true;
    for (const entry of this.#listeners.get(event.type) ?? []) {
      // Removed by a listener before it.
      if (!this.#listeners.get(event.type)?.includes(entry)) continue;
      if (entry.once) this.removeEventListener(event.type, entry.listener, { capture: entry.capture });
      state.isPassive = entry.passive;
      call(this, entry.listener, event);
      if (state.isStoppedAtOnce) break;
    }
    state.isDispatching = false;
    state.isPassive = false;
    return !state.isPrevented;
  }

  get [Symbol.toStringTag]() { return 'EventTarget'; }
}

// As in Node, an exception in a listener is uncaught: the other listeners still run, then the run ends.
const call = (target, listener, event) => {
  try {
    const returned = typeof listener === 'function' ? listener.call(target, event) : listener.handleEvent?.(event);
    if (typeof returned?.then === 'function') returned.then(undefined, internal.fail);
  } catch (error) {
    internal.timerFunctions.setImmediate(() => internal.fail(error));
  }
};

// An attribute such as `onabort`: a listener that can be replaced.
const defineHandler = (prototype, type) => {
  const handlers = new WeakMap();
  Object.defineProperty(prototype, `on${type}`, {
    configurable: true,
    enumerable: true,
    get() { return handlers.get(this) ?? null; },
    set(handler) {
      const isFunction = typeof handler === 'function';
      if (!handlers.has(this) && isFunction) this.addEventListener(type, (event) => handlers.get(this)?.call(this, event));
      handlers.set(this, isFunction ? handler : null);
    },
  });
};

internal.makeEnumerable(Event.prototype);
internal.makeEnumerable(EventTarget.prototype);
return { Event, CustomEvent, MessageEvent, EventTarget, defineHandler };
