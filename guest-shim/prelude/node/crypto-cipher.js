'use strict';
// createCipheriv and createDecipheriv.
const LazyTransform = internal.lazy('node/lazy-transform');
const { codedError, bytesOf } = internal;
const { keyBytes, output } = internal.lazy('node/crypto-hash');

const EMPTY = new Uint8Array(0);
const SPECS = {};
for (const bits of [128, 192, 256]) {
  for (const mode of ['cbc', 'ecb', 'ctr', 'gcm']) {
    SPECS[`aes-${bits}-${mode}`] = { mode, keyLength: bits / 8, ivLength: mode === 'ecb' ? 0 : mode === 'gcm' ? 12 : 16, blockSize: mode === 'cbc' || mode === 'ecb' ? 16 : 1 };
  }
}
SPECS['chacha20-poly1305'] = { mode: 'stream', keyLength: 32, ivLength: 12, blockSize: 1, isSealed: true };
SPECS['des-ede3-cbc'] = { mode: 'cbc', keyLength: 24, ivLength: 8, blockSize: 8 };
SPECS['des-ede3'] = { mode: 'ecb', keyLength: 24, ivLength: 0, blockSize: 8 };

const ALIASES = {
  aes128: 'aes-128-cbc', aes192: 'aes-192-cbc', aes256: 'aes-256-cbc', 'id-aes128-gcm': 'aes-128-gcm', 'id-aes192-gcm': 'aes-192-gcm', 'id-aes256-gcm': 'aes-256-gcm',
  des3: 'des-ede3-cbc', 'des-ede3-ecb': 'des-ede3',
};
const nameOf = (given) => {
  const lower = internal.nodeErrors.requireString(given, 'cipher').toLowerCase();
  return ALIASES[lower] ?? lower;
};

const TAG_BYTES = 16;
const state = (message) => codedError('ERR_CRYPTO_INVALID_STATE', message);
const isTagLength = (length) => length === 4 || length === 8 || (length >= 12 && length <= TAG_BYTES);
const requireTagLength = (length) => {
  if (!isTagLength(length)) throw codedError('ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${length}`, TypeError);
  return length;
};

class Cipher extends LazyTransform {
  #name; #spec; #key; #iv; #isEncrypt; #tagLength;
  #machine;
  #aad = EMPTY;
  #tag = null;
  #isPadded = true;
  #isDone = false;
  constructor(isEncrypt, given, key, iv, options) {
    super(options);
    this.#name = nameOf(given);
    this.#spec = SPECS[this.#name];
    if (this.#spec === undefined) throw codedError('ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
    this.#key = Uint8Array.from(keyBytes(key));
    this.#iv = iv === null || iv === undefined ? EMPTY : Uint8Array.from(bytesOf(iv, 'utf8', 'iv'));
    this.#isEncrypt = isEncrypt;
    if (this.#key.length !== this.#spec.keyLength) throw codedError('ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length', RangeError);
    const isWrong = this.#spec.mode === 'gcm' ? this.#iv.length === 0 : this.#iv.length !== this.#spec.ivLength;
    if (isWrong) throw codedError('ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector', TypeError);
    this.#tagLength = this.#isSealed && options?.authTagLength !== undefined ? requireTagLength(options.authTagLength) : undefined;
  }
  get #isSealed() { return this.#spec.mode === 'gcm' || this.#spec.isSealed === true; }
  get #started() {
    const suffix = this.#spec.blockSize > 1 && !this.#isPadded ? '-nopad' : '';
    this.#machine ??= host.cipherStart(this.#name + suffix, this.#isEncrypt, this.#key, this.#iv, this.#aad);
    return this.#machine;
  }

  update(data, inputEncoding, outputEncoding) {
    if (this.#isDone) throw state('Trying to add data in unsupported state');
    return output(host.machineUpdate(this.#started, bytesOf(data, inputEncoding)), outputEncoding);
  }
  final(outputEncoding) {
    if (this.#isDone) throw state('Unsupported state');
    this.#isDone = true;
    if (this.#isSealed && !this.#isEncrypt && this.#tag === null) throw codedError('ERR_CRYPTO_UNAUTHENTIC', 'Unsupported state or unable to authenticate data');
    const rest = host.machineFinish(this.#started, this.#tag);
    if (!this.#isSealed || !this.#isEncrypt) return output(rest, outputEncoding);
    this.#tag = rest.slice(0, this.#tagLength ?? TAG_BYTES);
    return output(EMPTY.slice(), outputEncoding);
  }
  setAutoPadding(isPadded = true) {
    this.#isPadded = Boolean(isPadded);
    return this;
  }
  setAAD(aad, options) {
    if (this.#machine !== undefined || this.#isDone) throw state('Invalid state for operation setAAD');
    const given = bytesOf(aad, options?.encoding ?? 'utf8', 'buffer');
    this.#aad = Uint8Array.from([...this.#aad, ...given]);
    return this;
  }
  getAuthTag() {
    if (!this.#isEncrypt || !this.#isDone || this.#tag === null) throw state('Invalid state for operation getAuthTag');
    return internal.Buffer.from(this.#tag);
  }
  setAuthTag(tag, encoding) {
    if (this.#isEncrypt || this.#isDone || this.#tag !== null || !this.#isSealed) throw state('Invalid state for operation setAuthTag');
    const bytes = Uint8Array.from(bytesOf(tag, encoding, 'buffer'));
    if (!isTagLength(bytes.length) || (this.#tagLength !== undefined && bytes.length !== this.#tagLength)) {
      throw codedError('ERR_CRYPTO_INVALID_AUTH_TAG', `Invalid authentication tag length: ${bytes.length}`, TypeError);
    }
    this.#tag = bytes;
    return this;
  }
  _transform(chunk, encoding, callback) {
    this.#give(() => this.update(chunk, encoding), callback);
  }
  _flush(callback) {
    this.#give(() => this.final(), callback);
  }
  #give(work, callback) {
    try {
      this.push(work());
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
  getCiphers: () => [...Object.keys(SPECS), 'aes128', 'aes192', 'aes256', 'des3'],
  getCipherInfo,
};
