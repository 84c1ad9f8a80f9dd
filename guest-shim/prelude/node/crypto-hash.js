'use strict';
// Hashes and HMACs, and what derives keys from them.
const LazyTransform = internal.lazy('node/lazy-transform');
const { codedError, later, bytesOf, bufferOver } = internal;
const { requireString, invalidArgType, outOfRange } = internal.nodeErrors;

const HASHES = ['md5', 'ripemd160', 'rmd160', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha512-256', 'RSA-MD5', 'RSA-SHA1', 'RSA-SHA224', 'RSA-SHA256', 'RSA-SHA384', 'RSA-SHA512'];

// As natives spell it: lower case, without the RSA that OpenSSL puts before.
const hashName = (name) => {
  const lower = requireString(name, 'algorithm').toLowerCase().replace(/^rsa-/, '').replace(/^sha-?(1|224|256|384|512)$/, 'sha$1').replace(/^sha512\/256$/, 'sha512-256');
  return lower === 'rmd160' ? 'ripemd160' : lower;
};

const EMPTY = new Uint8Array(0);
const isKnown = (name) => {
  try {
    host.digest(name, EMPTY);
    return true;
  } catch {
    return false;
  }
};

const output = (bytes, encoding) => {
  const buffer = bufferOver(bytes);
  return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
};

// Input is kept until the digest is asked for; natives take it whole.
class Digest extends LazyTransform {
  #chunks = [];
  #finish;
  #isDone = false;
  constructor(finish, options) {
    super(options);
    this.#finish = finish;
  }
  update(data, encoding) {
    if (this.#isDone) throw codedError('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw invalidArgType('data', ['string', 'an instance of Buffer', 'TypedArray', 'DataView'], data);
    // A copy: the caller may fill its buffer again before the digest is taken.
    this.#chunks.push(typeof data === 'string' ? internal.Buffer.from(data, encoding) : Uint8Array.from(bytesOf(data)));
    return this;
  }
  digest(encoding) {
    if (this.#isDone) throw codedError('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#isDone = true;
    return output(this.#finish(this.#chunks.length === 1 ? this.#chunks[0] : internal.Buffer.concat(this.#chunks)), encoding);
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    this.push(this.digest());
    callback();
  }
  _copyOf(Class, ...args) {
    if (this.#isDone) throw codedError('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    const copy = new Class(...args);
    copy.#chunks = [...this.#chunks];
    return copy;
  }
}

class Hash extends Digest {
  #algorithm;
  #options;
  constructor(algorithm, options) {
    const name = hashName(algorithm);
    if (!isKnown(name)) throw codedError('ERR_OSSL_EVP_UNSUPPORTED', 'Digest method not supported');
    super((bytes) => host.digest(name, bytes), options);
    this.#algorithm = algorithm;
    this.#options = options;
  }
  copy(options) { return this._copyOf(Hash, this.#algorithm, options ?? this.#options); }
}

// Text and bytes come first, because asking for CryptoKey would load it.
const keyBytes = (key, encoding) => {
  if (typeof key === 'string' || ArrayBuffer.isView(key) || key instanceof ArrayBuffer) return bytesOf(key, encoding, 'key');
  if (typeof key?.export === 'function') return key.export();
  if (key instanceof globalThis.CryptoKey) return internal.lazy('node/crypto-keys').KeyObject.from(key).export();
  throw invalidArgType('key', ['string', 'an instance of Buffer', 'TypedArray', 'DataView', 'KeyObject', 'CryptoKey'], key);
};

class Hmac extends Digest {
  constructor(algorithm, key, options) {
    const name = hashName(algorithm);
    if (!isKnown(name)) throw codedError('ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`, TypeError);
    const secret = Uint8Array.from(keyBytes(key, options?.encoding));
    super((bytes) => host.hmac(name, secret, bytes), options);
  }
}

// === derived keys ===

const requireLength = (value, name) => {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (!Number.isInteger(value) || value < 0) throw outOfRange(name, '>= 0 && <= 2147483647', value);
  return value;
};

const pbkdf2Sync = (password, salt, iterations, length, digest) => {
  requireLength(iterations, 'iterations');
  if (iterations < 1) throw outOfRange('iterations', '>= 1 && <= 2147483647', iterations);
  requireLength(length, 'keylen');
  const name = hashName(requireString(digest, 'digest'));
  if (!isKnown(name)) throw codedError('ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${digest}`, TypeError);
  return bufferOver(host.pbkdf2(name, bytesOf(password, 'utf8', 'password'), bytesOf(salt, 'utf8', 'salt'), iterations, length));
};

const scryptSync = (password, salt, length, options = {}) => {
  const N = options.N ?? options.cost ?? 16384;
  const r = options.r ?? options.blockSize ?? 8;
  const p = options.p ?? options.parallelization ?? 1;
  if (128 * N * r > (options.maxmem ?? 32 * 1024 * 1024)) throw codedError('ERR_CRYPTO_INVALID_SCRYPT_PARAMS', 'Invalid scrypt params: memory limit exceeded', RangeError);
  return bufferOver(host.scrypt(bytesOf(password, 'utf8', 'password'), bytesOf(salt, 'utf8', 'salt'), N, r, p, requireLength(length, 'keylen')));
};

const hkdfSync = (digest, key, salt, info, length) => {
  const bytes = host.hkdf(hashName(digest), keyBytes(key), bytesOf(salt, 'utf8', 'salt'), bytesOf(info, 'utf8', 'info'), requireLength(length, 'length'));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};

const oneShot = (algorithm, data, encoding = 'hex') => new Hash(algorithm).update(data).digest(encoding);

return {
  Hash,
  Hmac,
  hashName,
  output,
  keyBytes,
  createHash: (algorithm, options) => new Hash(algorithm, options),
  createHmac: (algorithm, key, options) => new Hmac(algorithm, key, options),
  hash: oneShot,
  getHashes: () => [...HASHES],
  pbkdf2Sync,
  pbkdf2: (password, salt, iterations, length, digest, callback) => later(callback, () => pbkdf2Sync(password, salt, iterations, length, digest)),
  scryptSync,
  scrypt: (password, salt, length, options, callback) => {
    const [settings, done] = typeof options === 'function' ? [undefined, options] : [options, callback];
    later(done, () => scryptSync(password, salt, length, settings));
  },
  hkdfSync,
  hkdf: (digest, key, salt, info, length, callback) => later(callback, () => hkdfSync(digest, key, salt, info, length)),
};
