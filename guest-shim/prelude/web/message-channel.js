'use strict';
// MessageChannel: two ports within one run.
const { EventTarget, MessageEvent, Event, defineHandler } = internal.lazy('web/events');
const { structuredClone } = internal.lazy('web/structured-clone');
const { setImmediate } = internal.timerFunctions;

let makes = false;

class MessagePort extends EventTarget {
  #other;
  #queue = [];
  #isStarted = false;
  #isClosed = false;

  constructor() {
    if (!makes) throw internal.codedError('ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor', TypeError);
    super();
  }

  static entangle(a, b) {
    a.#other = b;
    b.#other = a;
  }

  postMessage(message, options) {
    const transfer = Array.isArray(options) ? options : options?.transfer;
    const data = structuredClone(message, { transfer });
    const other = this.#other;
    if (other === undefined || other.#isClosed) return;
    other.#queue.push({ data });
    if (other.#isStarted) other.#drainSoon();
  }

  start() {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#drainSoon();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const port of [this, this.#other]) setImmediate(() => port?.dispatchEvent(new Event('close')));
    if (this.#other) this.#other.#isClosed = true;
  }

  #drainSoon() {
    setImmediate(() => {
      const message = this.#queue.shift();
      if (this.#isClosed || message === undefined) return;
      this.dispatchEvent(new MessageEvent('message', message));
      if (this.#queue.length > 0) this.#drainSoon();
    });
  }

  ref() { return this; }
  unref() { return this; }
  get [Symbol.toStringTag]() { return 'MessagePort'; }
}
defineHandler(MessagePort.prototype, 'message');
defineHandler(MessagePort.prototype, 'messageerror');
// Setting `onmessage` starts the port, unlike adding a listener.
const { get, set } = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');
Object.defineProperty(MessagePort.prototype, 'onmessage', {
  configurable: true,
  enumerable: true,
  get,
  set(handler) {
    set.call(this, handler);
    this.start();
  },
});
const { entangle } = MessagePort;
delete MessagePort.entangle;

class MessageChannel {
  constructor() {
    makes = true;
    this.port1 = new MessagePort();
    this.port2 = new MessagePort();
    makes = false;
    entangle(this.port1, this.port2);
  }
}

return { MessageChannel, MessagePort };
