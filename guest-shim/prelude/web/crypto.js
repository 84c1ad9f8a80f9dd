'use strict';
// crypto: randomness at once, `subtle` when it is first used.
const { DOMException } = internal.lazy('web/dom-exception');
const { CryptoKey } = internal.lazy('web/crypto-key');

const MAX_RANDOM_BYTES = 65536;
const INTEGERS = new Set(['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'BigInt64Array', 'BigUint64Array']);
const kindOf = (() => {
  const { get } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
  return (value) => get.call(value);
})();

let makes = true;

class Crypto {
  constructor() {
    if (!makes) throw internal.codedError('ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor', TypeError);
  }

  get subtle() { return internal.lazy('web/subtle').subtle; }

  getRandomValues(array) {
    if (!INTEGERS.has(kindOf(array))) {
      throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
    }
    if (array.byteLength > MAX_RANDOM_BYTES) {
      throw new DOMException(`The requested length exceeds 65,536 bytes`, 'QuotaExceededError');
    }
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    bytes.set(host.random(array.byteLength));
    internal.noteRandomBytes(bytes);
    return array;
  }

  randomUUID() {
    const bytes = host.random(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = host.encodeHex(bytes);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  get [Symbol.toStringTag]() { return 'Crypto'; }
}
const crypto = new Crypto();
makes = false;
internal.makeEnumerable(Crypto.prototype);

return { crypto, Crypto, CryptoKey, get SubtleCrypto() { return internal.lazy('web/subtle').SubtleCrypto; } };
