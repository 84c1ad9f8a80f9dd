'use strict';
// `crypto`.
const { codedError, later, bytesOf, bufferOver } = internal;
const { invalidArgType, outOfRange, requireFunction } = internal.nodeErrors;
const hashes = internal.lazy('node/crypto-hash');
const MAX_INT = 2 ** 48 - 1;

const randomBytes = (size, callback) => {
  if (typeof size !== 'number') throw invalidArgType('size', 'number', size);
  if (!Number.isInteger(size) || size < 0 || size > 2 ** 31 - 1) throw outOfRange('size', '>= 0 && <= 2147483647', size);
  if (callback === undefined) return drawBytes(size);
  return later(callback, () => drawBytes(size));
};
const drawBytes = (size) => {
  const bytes = host.random(size);
  internal.noteRandomBytes(bytes);
  return bufferOver(bytes);
};

const randomFillSync = (target, offset = 0, size = target.byteLength - offset) => {
  const bytes = bytesOf(target, undefined, 'buf');
  if (offset < 0 || offset > bytes.length) throw outOfRange('offset', `>= 0 && <= ${bytes.length}`, offset);
  if (size < 0 || size + offset > bytes.length) throw outOfRange('size + offset', `<= ${bytes.length}`, size + offset);
  const filled = bytes.subarray(offset, offset + size);
  filled.set(host.random(size));
  internal.noteRandomBytes(filled);
  return target;
};

// Numbers of 48 bits; those beyond the last whole multiple of the range are thrown away, so none is likelier.
const drawInt = (range) => {
  const limit = MAX_INT - (MAX_INT % range);
  for (;;) {
    const drawn = bufferOver(host.random(6)).readUIntBE(0, 6);
    if (drawn < limit) return drawn % range;
  }
};
const randomInt = (first, second, third) => {
  const [min, max, callback] = typeof second === 'number' ? [first, second, third] : [0, first, second];
  if (!Number.isSafeInteger(min)) throw invalidArgType('min', 'a safe integer', min);
  if (!Number.isSafeInteger(max)) throw invalidArgType('max', 'a safe integer', max);
  if (max <= min) throw outOfRange('max', `greater than the value of "min" (${min})`, max);
  if (max - min > MAX_INT) throw outOfRange('max - min', `<= ${MAX_INT}`, max - min);
  if (callback === undefined) return min + drawInt(max - min);
  return later(callback, () => min + drawInt(max - min));
};

const randomUUID = () => {
  const bytes = bufferOver(host.random(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const timingSafeEqual = (a, b) => {
  const [left, right] = [a, b].map((given, at) => {
    if (!ArrayBuffer.isView(given) && !(given instanceof ArrayBuffer)) throw invalidArgType(`buf${at + 1}`, ['an instance of ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], given);
    return bytesOf(given);
  });
  if (left.length !== right.length) throw codedError('ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH', 'Input buffers must have the same byte length', RangeError);
  return host.timingSafeEqual(left, right);
};

const constants = {
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
  SSL_OP_NO_SSLv2: 0, SSL_OP_NO_SSLv3: 33554432, SSL_OP_NO_TLSv1: 67108864, SSL_OP_NO_TLSv1_1: 268435456, SSL_OP_LEGACY_SERVER_CONNECT: 4, SSL_OP_ALL: 2147485776,
  defaultCoreCipherList: 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256', TLS1_2_VERSION: 771, TLS1_3_VERSION: 772,
  POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4,
};

const crypto = {
  ...hashes,
  constants,
  randomBytes,
  rng: randomBytes,
  pseudoRandomBytes: randomBytes,
  prng: randomBytes,
  randomFillSync,
  randomFill: (target, ...rest) => {
    const callback = requireFunction(rest.pop(), 'callback');
    later(callback, () => randomFillSync(target, ...rest));
  },
  randomInt,
  randomUUID,
  timingSafeEqual,
  getRandomValues: (target) => randomFillSync(target),
  getCurves: () => ['prime256v1', 'secp384r1', 'secp521r1'],
  getFips: () => 0,
  setFips() {},
  setEngine() {},
  secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  get webcrypto() { return globalThis.crypto; },
  get subtle() { return globalThis.crypto?.subtle; },
};
for (const name of ['hashName', 'output', 'keyBytes']) delete crypto[name];

// Used by few; loaded with the first use.
const lazily = (part, names) => {
  for (const name of names) {
    Object.defineProperty(crypto, name, {
      enumerable: true,
      configurable: true,
      get: () => internal.lazy(part)[name],
      set: (value) => { Object.defineProperty(crypto, name, { value, writable: true, enumerable: true, configurable: true }); },
    });
  }
};
lazily('node/crypto-cipher', ['Cipheriv', 'Decipheriv', 'createCipheriv', 'createDecipheriv', 'getCiphers', 'getCipherInfo']);
lazily('node/crypto-keys', ['KeyObject', 'createSecretKey', 'createPublicKey', 'createPrivateKey', 'generateKeyPair', 'generateKeyPairSync', 'generateKey', 'generateKeySync']);
lazily('node/crypto-sign', ['Sign', 'Verify', 'createSign', 'createVerify', 'sign', 'verify', 'publicEncrypt', 'privateDecrypt', 'privateEncrypt', 'publicDecrypt']);
lazily('node/crypto-ecdh', ['ECDH', 'createECDH', 'diffieHellman']);

for (const name of ['createDiffieHellman', 'createDiffieHellmanGroup', 'getDiffieHellman', 'generatePrime', 'generatePrimeSync', 'checkPrime', 'checkPrimeSync']) {
  crypto[name] = internal.unavailable(`crypto.${name}`);
}
for (const name of ['DiffieHellman', 'DiffieHellmanGroup', 'X509Certificate', 'Certificate']) crypto[name] = internal.unavailable(`crypto.${name}`);
return crypto;
