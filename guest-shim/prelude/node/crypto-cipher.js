'use strict';
// createCipheriv and createDecipheriv.
//
// Natives take a whole message, so all output comes with `final`; what `update` and `final` give together is what
// Node gives.
const LazyTransform = internal.lazy('node/lazy-transform');
const { codedError, bytesOf } = internal;
const { keyBytes, output } = internal.lazy('node/crypto-hash');

const SPECS = {};
for (const bits of [128, 192, 256]) {
  for (const mode of ['cbc', 'ecb', 'ctr', 'gcm']) {
    SPECS[`aes-${bits}-${mode}`] = { mode, keyLength: bits / 8, ivLength: mode === 'ecb' ? 0 : mode === 'gcm' ? 12 : 16, blockSize: mode === 'cbc' || mode === 'ecb' ? 16 : 1 };
  }
}
SPECS['chacha20-poly1305'] = { mode: 'stream', keyLength: 32, ivLength: 12, blockSize: 1, isSealed: true };

const ALIASES = { aes128: 'aes-128-cbc', aes192: 'aes-192-cbc', aes256: 'aes-256-cbc', 'id-aes128-gcm': 'aes-128-gcm', 'id-aes192-gcm': 'aes-192-gcm', 'id-aes256-gcm': 'aes-256-gcm' };
const nameOf = (given) => {
  const lower = internal.nodeErrors.requireString(given, 'cipher').toLowerCase();
  return ALIASES[lower] ?? lower;
};

const TAG_BYTES = 16;
const state = (message) => codedError('ERR_CRYPTO_INVALID_STATE', message);

class Cipher extends LazyTransform {
  #name; #spec; #key; #iv; #isEncrypt;
  #chunks = [];
  #aad = null;
  #tag = null;
  #isPadded = true;
  #isDone = false;
  constructor(isEncrypt, given, key, iv, options) {
    super(options);
    this.#name = nameOf(given);
    this.#spec = SPECS[this.#name];
    if (this.#spec === undefined) throw codedError('ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    this.#key = Uint8Array.from(keyBytes(key));
    this.#iv = iv === null ? new Uint8Array(0) : Uint8Array.from(bytesOf(iv, 'utf8', 'iv'));
    this.#isEncrypt = isEncrypt;
    if (this.#key.length !== this.#spec.keyLength) throw codedError('ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length', RangeError);
    const isWrong = this.#spec.mode === 'gcm' ? this.#iv.length === 0 : this.#iv.length !== this.#spec.ivLength;
    if (isWrong) throw codedError('ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector', TypeError);
  }
  get #isSealed() { return this.#spec.mode === 'gcm' || this.#spec.isSealed === true; }

  update(data, inputEncoding, outputEncoding) {
    if (this.#isDone) throw state('Unsupported state');
    this.#chunks.push(Uint8Array.from(bytesOf(data, inputEncoding)));
    return output(new Uint8Array(0), outputEncoding);
  }
  final(outputEncoding) {
    if (this.#isDone) throw state('Unsupported state');
    this.#isDone = true;
    if (this.#isSealed && !this.#isEncrypt && this.#tag === null) throw codedError('ERR_CRYPTO_UNAUTHENTIC', 'Unsupported state or unable to authenticate data');
    const suffix = this.#spec.blockSize > 1 && !this.#isPadded ? '-nopad' : '';
    let bytes = host.cipher(this.#name + suffix, this.#isEncrypt, this.#key, this.#iv, internal.Buffer.concat(this.#chunks), this.#aad, this.#isEncrypt ? null : this.#tag);
    if (this.#isSealed && this.#isEncrypt) {
      this.#tag = bytes.slice(-TAG_BYTES);
      bytes = bytes.slice(0, -TAG_BYTES);
    }
    return output(bytes, outputEncoding);
  }
  setAutoPadding(isPadded = true) {
    this.#isPadded = Boolean(isPadded);
    return this;
  }
  setAAD(aad) {
    this.#aad = Uint8Array.from(bytesOf(aad, 'utf8', 'buffer'));
    return this;
  }
  getAuthTag() {
    if (!this.#isEncrypt || !this.#isDone || this.#tag === null) throw state('Invalid state for operation getAuthTag');
    return internal.Buffer.from(this.#tag);
  }
  setAuthTag(tag, encoding) {
    if (this.#isEncrypt) throw state('Invalid state for operation setAuthTag');
    const bytes = Uint8Array.from(bytesOf(tag, encoding, 'buffer'));
    if (bytes.length !== TAG_BYTES) throw codedError('ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${bytes.length}`, TypeError);
    this.#tag = bytes;
    return this;
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    try {
      this.push(this.final());
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
}

class Cipheriv extends Cipher {
  constructor(name, key, iv, options) { super(true, name, key, iv, options); }
}
class Decipheriv extends Cipher {
  constructor(name, key, iv, options) { super(false, name, key, iv, options); }
}

const getCipherInfo = (given) => {
  const name = nameOf(String(given));
  const spec = SPECS[name];
  return spec && { name, nid: 0, mode: spec.mode, keyLength: spec.keyLength, ...(spec.ivLength > 0 ? { ivLength: spec.ivLength } : {}), ...(spec.blockSize > 1 ? { blockSize: spec.blockSize } : {}) };
};

return {
  Cipheriv,
  Decipheriv,
  createCipheriv: (name, key, iv, options) => new Cipheriv(name, key, iv, options),
  createDecipheriv: (name, key, iv, options) => new Decipheriv(name, key, iv, options),
  getCiphers: () => [...Object.keys(SPECS), 'aes128', 'aes192', 'aes256'],
  getCipherInfo,
};
