'use strict';
// `events`: npm's EventEmitter with the statics of today's Node.
const { codedError } = internal;
const { invalidArgType } = internal.nodeErrors;
const EventEmitter = internal.lazy('npm/events');
const CAPTURE = Symbol.for('nodejs.rejection');
const ERROR_MONITOR = Symbol('events.errorMonitor');

const abortError = (signal) => Object.assign(codedError('ABORT_ERR', 'The operation was aborted'), { name: 'AbortError', cause: signal?.reason });
const isTarget = (emitter) => typeof emitter?.addEventListener === 'function';

const subscribe = (emitter, name, listener, options) => {
  if (typeof emitter?.on === 'function') options?.once ? emitter.once(name, listener) : emitter.on(name, listener);
  else if (isTarget(emitter)) emitter.addEventListener(name, listener, options);
  else throw invalidArgType('emitter', 'an instance of EventEmitter', emitter);
};
const unsubscribe = (emitter, name, listener) => {
  if (typeof emitter.removeListener === 'function') emitter.removeListener(name, listener);
  else emitter.removeEventListener(name, listener);
};

const once = (emitter, name, { signal } = {}) => new Promise((resolve, reject) => {
  if (signal?.aborted) {
    reject(abortError(signal));
    return;
  }
  const clear = () => {
    unsubscribe(emitter, name, settle);
    if (!isTarget(emitter) && name !== 'error') unsubscribe(emitter, 'error', fail);
    signal?.removeEventListener('abort', cancel);
  };
  const settle = (...values) => { clear(); resolve(values); };
  const fail = (error) => { clear(); reject(error); };
  const cancel = () => fail(abortError(signal));
  subscribe(emitter, name, settle, { once: true });
  if (!isTarget(emitter) && name !== 'error') subscribe(emitter, 'error', fail, { once: true });
  signal?.addEventListener('abort', cancel, { once: true });
});

// Every event as a step of an async iteration.
const on = (emitter, name, { signal, close = [] } = {}) => {
  if (signal?.aborted) throw abortError(signal);
  const arrived = [];
  const waiting = [];
  let failure;
  let isDone = false;
  const arrive = (...values) => (waiting.length > 0 ? waiting.shift().resolve({ value: values, done: false }) : arrived.push(values));
  const fail = (error) => {
    if (waiting.length > 0) waiting.shift().reject(error);
    else failure = error;
    void finish();
  };
  const cancel = () => fail(abortError(signal));
  const finish = () => {
    unsubscribe(emitter, name, arrive);
    if (!isTarget(emitter)) unsubscribe(emitter, 'error', fail);
    for (const event of close) unsubscribe(emitter, event, finish);
    signal?.removeEventListener('abort', cancel);
    isDone = true;
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  subscribe(emitter, name, arrive);
  if (!isTarget(emitter) && name !== 'error') subscribe(emitter, 'error', fail);
  for (const event of close) subscribe(emitter, event, finish);
  signal?.addEventListener('abort', cancel, { once: true });
  return {
    next() {
      if (arrived.length > 0) return Promise.resolve({ value: arrived.shift(), done: false });
      if (failure !== undefined) {
        const error = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (isDone) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => { waiting.push({ resolve, reject }); });
    },
    return: finish,
    throw(error) { fail(error); return Promise.resolve({ value: undefined, done: true }); },
    [Symbol.asyncIterator]() { return this; },
  };
};

// npm's says nothing of a value that is no error.
const unhandled = (value) => {
  const error = codedError('ERR_UNHANDLED_ERROR', `Unhandled error. (${internal.inspect(value)})`);
  error.context = value;
  return error;
};

// With captureRejections, a listener that returns a rejecting promise raises 'error'.
const emit = EventEmitter.prototype.emit;
const capturing = (emitter, listener) => function (...args) {
  const result = listener.apply(this, args);
  if (typeof result?.then === 'function') {
    result.then(undefined, (error) => {
      if (typeof emitter[CAPTURE] === 'function') emitter[CAPTURE](error, ...args);
      else internal.process.nextTick(() => emit.call(emitter, 'error', error));
    });
  }
  return result;
};
const CAPTURES = Symbol('captureRejections');
const init = EventEmitter.init;
EventEmitter.init = function (options) {
  init.call(this);
  if (options?.captureRejections ?? EventEmitter.captureRejections) Object.defineProperty(this, CAPTURES, { value: true });
};
EventEmitter.prototype.emit = function (name, ...args) {
  if (name === 'error') {
    if (this.listenerCount(ERROR_MONITOR) > 0) emit.call(this, ERROR_MONITOR, ...args);
    if (!(args[0] instanceof Error) && this.listenerCount('error') === 0) throw unhandled(args[0]);
  }
  if (!this[CAPTURES] || name === 'error') return emit.call(this, name, ...args);
  const listeners = this.rawListeners(name);
  for (const listener of listeners) capturing(this, listener).apply(this, args);
  return listeners.length > 0;
};
// npm's constructor takes no options.
const Emitter = function (options) { EventEmitter.init.call(this, options); };
Emitter.prototype = EventEmitter.prototype;
Object.setPrototypeOf(Emitter, EventEmitter);
Object.defineProperty(Emitter, 'name', { value: 'EventEmitter' });
for (const key of Object.getOwnPropertyNames(EventEmitter)) {
  if (!['name', 'length', 'prototype'].includes(key)) Object.defineProperty(Emitter, key, Object.getOwnPropertyDescriptor(EventEmitter, key));
}
Object.defineProperty(Emitter.prototype, 'constructor', { value: Emitter, writable: true, configurable: true });

Emitter.EventEmitter = Emitter;
Emitter.default = Emitter;
Emitter.once = once;
Emitter.on = on;
Emitter.captureRejectionSymbol = CAPTURE;
Emitter.errorMonitor = ERROR_MONITOR;
Emitter.captureRejections = false;
Object.defineProperty(EventEmitter, 'captureRejections', { get: () => Emitter.captureRejections });
Emitter.usingDomains = false;
Emitter.getEventListeners = (emitter, name) => (typeof emitter.listeners === 'function' ? emitter.listeners(name) : []);
Emitter.getMaxListeners = (emitter) => emitter.getMaxListeners?.() ?? Emitter.defaultMaxListeners;
Emitter.setMaxListeners = (count = Emitter.defaultMaxListeners, ...emitters) => {
  for (const emitter of emitters) emitter.setMaxListeners?.(count);
  if (emitters.length === 0) Emitter.defaultMaxListeners = count;
};
Emitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
Emitter.addAbortListener = (signal, listener) => {
  if (signal.aborted) internal.process.nextTick(listener);
  else signal.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose ?? Symbol.for('dispose')]: () => signal.removeEventListener('abort', listener) };
};
Emitter.EventEmitterAsyncResource = class EventEmitterAsyncResource extends Emitter {};
return Emitter;
