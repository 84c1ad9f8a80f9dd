'use strict';
// CryptoKey: what may be done with a key is public, the key itself is not.
let makes = false;

class CryptoKey {
  #type;
  #extractable;
  #algorithm;
  #usages;
  #material;

  constructor() {
    if (!makes) throw internal.codedError('ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor', TypeError);
  }

  // `material` is the secret's bytes, or the DER of an asymmetric key.
  static make(type, extractable, algorithm, usages, material) {
    makes = true;
    const key = new CryptoKey();
    makes = false;
    key.#type = type;
    key.#extractable = extractable;
    key.#algorithm = algorithm;
    key.#usages = [...usages];
    key.#material = material;
    return key;
  }

  static material(key) { return key.#material; }

  get type() { return this.#type; }
  get extractable() { return this.#extractable; }
  get algorithm() { return this.#algorithm; }
  get usages() { return this.#usages; }
  get [Symbol.toStringTag]() { return 'CryptoKey'; }
  [internal.inspect.custom](depth, options, inspect) {
    const { type, extractable, algorithm, usages } = this;
    return `CryptoKey ${inspect({ type, extractable, algorithm, usages }, options)}`;
  }
}
const { make, material } = CryptoKey;
delete CryptoKey.make;
delete CryptoKey.material;
internal.makeEnumerable(CryptoKey.prototype);

return { CryptoKey, makeKey: make, materialOf: material };
