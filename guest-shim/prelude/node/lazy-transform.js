'use strict';
// A Transform that becomes one when it is first used as a stream. Nearly all hashes and ciphers never are, and
// setting up a stream costs more than their work.
const { Transform } = internal.builtin('stream').exports;

function LazyTransform(options) {
  Object.defineProperty(this, '_options', { value: options, configurable: true });
}
Object.setPrototypeOf(LazyTransform.prototype, Transform.prototype);
Object.setPrototypeOf(LazyTransform, Transform);

for (const name of ['_readableState', '_writableState']) {
  Object.defineProperty(LazyTransform.prototype, name, {
    configurable: true,
    enumerable: true,
    get() {
      Reflect.apply(Transform, this, [this._options]);
      return this[name];
    },
    set(value) { Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
}

return LazyTransform;
