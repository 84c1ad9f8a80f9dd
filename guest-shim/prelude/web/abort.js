'use strict';
// AbortController and AbortSignal.
const { DOMException } = internal.lazy('web/dom-exception');
const { Event, EventTarget, defineHandler } = internal.lazy('web/events');
const { setTimeout } = internal.timerFunctions;

let makes = false;

class AbortSignal extends EventTarget {
  #isAborted = false;
  #reason;
  #dependents = new Set();

  constructor() {
    if (!makes) throw internal.codedError('ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor', TypeError);
    super();
  }

  get aborted() { return this.#isAborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#isAborted) throw this.#reason; }

  static abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
    const signal = makeSignal();
    signal.#isAborted = true;
    signal.#reason = reason;
    return signal;
  }

  static timeout(milliseconds) {
    if (typeof milliseconds !== 'number' || !(milliseconds >= 0) || milliseconds > Number.MAX_SAFE_INTEGER) {
      throw internal.codedError('ERR_OUT_OF_RANGE', `The value of "delay" is out of range. It must be >= 0 && <= 9007199254740991. Received ${String(milliseconds)}`, RangeError);
    }
    const signal = makeSignal();
    setTimeout(() => signal.#abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')), milliseconds).unref();
    return signal;
  }

  static any(signals) {
    const sources = [...signals];
    for (const source of sources) {
      if (!(source instanceof AbortSignal)) throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "signals" argument must be an iterable of AbortSignal.', TypeError);
    }
    const made = makeSignal();
    const aborted = sources.find((source) => source.#isAborted);
    if (aborted) return AbortSignal.abort(aborted.#reason);
    for (const source of sources) source.#dependents.add(made);
    return made;
  }

  static abortWith(signal, reason) { signal.#abort(reason); }

  #abort(reason) {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.dispatchEvent(new Event('abort'));
    for (const dependent of this.#dependents) dependent.#abort(reason);
    this.#dependents.clear();
  }

  get [Symbol.toStringTag]() { return 'AbortSignal'; }
  [internal.inspect.custom]() { return `AbortSignal { aborted: ${this.#isAborted} }`; }
}
defineHandler(AbortSignal.prototype, 'abort');
const { abortWith } = AbortSignal;
delete AbortSignal.abortWith;

const makeSignal = () => {
  makes = true;
  try {
    return new AbortSignal();
  } finally {
    makes = false;
  }
};

class AbortController {
  #signal = makeSignal();
  get signal() { return this.#signal; }
  abort(reason = new DOMException('This operation was aborted', 'AbortError')) { abortWith(this.#signal, reason); }
  get [Symbol.toStringTag]() { return 'AbortController'; }
  [internal.inspect.custom]() { return `AbortController { signal: AbortSignal { aborted: ${this.#signal.aborted} } }`; }
}
internal.makeEnumerable(AbortController.prototype);

return { AbortController, AbortSignal };
