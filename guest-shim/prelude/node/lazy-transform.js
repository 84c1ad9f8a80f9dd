'use strict';
// A Transform that becomes one when it is first used as a stream. Nearly all hashes, ciphers and compressors never are;
// to load Node's streams for them in a run costs some 50 ms, and to set one up more than their own work.
const METHODS = [
  'on', 'once', 'off', 'addListener', 'prependListener', 'prependOnceListener', 'removeListener', 'removeAllListeners', 'listeners', 'listenerCount', 'emit', 'pipe', 'unpipe',
  'read', 'write', 'end', 'resume', 'pause', 'isPaused', 'setEncoding', 'setDefaultEncoding', 'destroy', 'cork', 'uncork', 'push', Symbol.asyncIterator,
];

function LazyTransform(options) {
  Object.defineProperty(this, '_options', { value: options, configurable: true });
}
const prototype = LazyTransform.prototype;
const define = (target, name, value) => Object.defineProperty(target, name, { value, writable: true, configurable: true });

// All of them at once: from here on the class is one of Node's.
const become = () => {
  const { Transform } = internal.builtin('stream').exports;
  for (const name of METHODS) delete prototype[name];
  Object.setPrototypeOf(prototype, Transform.prototype);
  return Transform;
};
for (const name of METHODS) {
  define(prototype, name, function (...args) {
    become();
    return this[name](...args);
  });
}

for (const name of ['_readableState', '_writableState']) {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get() {
      Reflect.apply(become(), this, [this._options]);
      return this[name];
    },
    set(value) { Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
}

return LazyTransform;
