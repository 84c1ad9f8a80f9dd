'use strict';
// crypto.subtle. Everything is computed at once and told through a promise.
const { CryptoKey, materialOf } = internal.lazy('web/crypto-key');
const { bytesOf, bufferOf, concat } = internal.lazy('web/bytes');
const { normalize, hashOf, importKey, exportKey, generateKey, fail, HASH_BITS } = internal.lazy('web/subtle-keys');

const EMPTY = new Uint8Array(0);
const DIGESTS = Object.keys(HASH_BITS);
const CIPHERS = ['AES-CBC', 'AES-CTR', 'AES-GCM', 'RSA-OAEP'];
const WRAPPERS = [...CIPHERS, 'AES-KW'];
const TAG_BITS = [32, 64, 96, 104, 112, 120, 128];
const SIGNERS = ['HMAC', 'RSASSA-PKCS1-v1_5', 'RSA-PSS', 'ECDSA', 'Ed25519'];

// A key used for what it was not made for is an error of its own.
const use = (key, algorithm, usage) => {
  if (!(key instanceof CryptoKey)) throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "key" argument must be an instance of CryptoKey.', TypeError);
  if (key.algorithm.name !== algorithm.name) fail('Key algorithm mismatch', 'InvalidAccessError');
  if (!key.usages.includes(usage)) fail(`Unable to use this key to ${usage}`, 'InvalidAccessError');
  return materialOf(key);
};

const attempt = (work) => {
  try {
    return work();
  } catch (error) {
    if (error?.name === 'TypeError' || error?.code === undefined || error instanceof internal.lazy('web/dom-exception').DOMException) throw error;
    return fail('The operation failed for an operation-specific reason', 'OperationError');
  }
};

const signatureName = (key, algorithm) => {
  switch (algorithm.name) {
    case 'RSASSA-PKCS1-v1_5': return `RS${key.algorithm.hash.name.slice(4)}`;
    case 'RSA-PSS': return `PS${key.algorithm.hash.name.slice(4)}/${algorithm.saltLength}`;
    case 'ECDSA': return `ES${hashOf(algorithm).slice(4)}`;
    default: return 'Ed25519';
  }
};

const sign = (given, key, data) => {
  const algorithm = normalize(given, SIGNERS);
  const material = use(key, algorithm, 'sign');
  if (algorithm.name === 'HMAC') return host.hmac(key.algorithm.hash.name, material, bytesOf(data));
  return attempt(() => host.sign(signatureName(key, algorithm), material, bytesOf(data)));
};

const verify = (given, key, signature, data) => {
  const algorithm = normalize(given, SIGNERS);
  const material = use(key, algorithm, 'verify');
  const claimed = bytesOf(signature);
  if (algorithm.name !== 'HMAC') return attempt(() => host.verify(signatureName(key, algorithm), material, bytesOf(data), claimed));
  const expected = host.hmac(key.algorithm.hash.name, material, bytesOf(data));
  return expected.length === claimed.length && host.timingSafeEqual(expected, claimed);
};

const crypt = (given, key, data, isEncrypt, usage) => {
  const algorithm = normalize(given, usage.endsWith('Key') ? WRAPPERS : CIPHERS);
  const material = use(key, algorithm, usage);
  if (algorithm.name === 'AES-KW') return attempt(() => host.aesWrap(isEncrypt, material, bytesOf(data)));
  if (algorithm.name === 'RSA-OAEP') {
    const padding = `oaep-${key.algorithm.hash.name.replace('-', '').toLowerCase()}`;
    const label = algorithm.label === undefined ? undefined : host.decodeText('utf-8', bytesOf(algorithm.label), true, true);
    return attempt(() => (isEncrypt ? host.rsaEncrypt : host.rsaDecrypt)(padding, material, bytesOf(data), label));
  }
  const mode = algorithm.name.slice(4).toLowerCase();
  const iv = bytesOf(mode === 'ctr' ? algorithm.counter : algorithm.iv);
  if (mode !== 'gcm' && iv.length !== 16) fail(`algorithm.${mode === 'ctr' ? 'counter' : 'iv'} must contain exactly 16 bytes`, 'OperationError');
  const name = `aes-${material.length * 8}-${mode}`;
  if (mode === 'gcm') return seal(name, algorithm, material, bytesOf(data), isEncrypt);
  return attempt(() => {
    const machine = host.cipherStart(name, isEncrypt, material, iv, EMPTY);
    return concat([host.machineUpdate(machine, bytesOf(data)), host.machineFinish(machine, null)]);
  });
};

// The tag follows what is encrypted.
const seal = (name, algorithm, material, data, isEncrypt) => {
  const { tagLength = 128 } = algorithm;
  if (!TAG_BITS.includes(tagLength)) fail(`${tagLength} is not a valid AES-GCM tag length`, 'OperationError');
  const aad = algorithm.additionalData === undefined ? EMPTY : bytesOf(algorithm.additionalData);
  return attempt(() => {
    const machine = host.cipherStart(name, isEncrypt, material, bytesOf(algorithm.iv), aad);
    if (isEncrypt) return concat([host.machineUpdate(machine, data), host.machineFinish(machine, null).subarray(0, tagLength / 8)]);
    const length = data.length - tagLength / 8;
    if (length < 0) fail('The provided data is too small.', 'OperationError');
    const opened = host.machineUpdate(machine, data.subarray(0, length).slice());
    host.machineFinish(machine, data.subarray(length).slice());
    return opened;
  });
};

const deriveBits = (given, key, length, usage) => {
  const algorithm = normalize(given, ['PBKDF2', 'HKDF', 'ECDH', 'X25519']);
  const material = use(key, algorithm, usage);
  if (algorithm.name === 'ECDH' || algorithm.name === 'X25519') {
    const shared = attempt(() => host.ecdh(material, materialOf(algorithm.public)));
    if (length === null || length === undefined) return shared;
    if (length > shared.length * 8) fail('derived bit length is too small', 'OperationError');
    return shared.slice(0, Math.ceil(length / 8));
  }
  if (!Number.isInteger(length) || length % 8 !== 0) fail('length must be a multiple of 8', 'OperationError');
  const hash = hashOf(algorithm);
  const salt = bytesOf(algorithm.salt);
  if (algorithm.name === 'PBKDF2') return attempt(() => host.pbkdf2(hash, material, salt, algorithm.iterations, length / 8));
  return attempt(() => host.hkdf(hash, material, salt, bytesOf(algorithm.info), length / 8));
};

const lengthOfKey = (algorithm) => {
  const { name, length } = typeof algorithm === 'string' ? { name: algorithm } : algorithm;
  if (/^hmac$/i.test(name)) return length ?? HASH_BITS[hashOf(algorithm)];
  return /^aes-/i.test(name) ? length : null;
};

const wrapKey = (format, key, wrapping, algorithm) => {
  const exported = exportKey(format, key);
  const bytes = format === 'jwk' ? host.encodeUtf8(JSON.stringify(exported)) : bytesOf(exported);
  return crypt(algorithm, wrapping, bytes, true, 'wrapKey');
};

const unwrapKey = (format, wrapped, unwrapping, algorithm, keyAlgorithm, extractable, usages) => {
  const bytes = crypt(algorithm, unwrapping, wrapped, false, 'unwrapKey');
  return importKey(format, format === 'jwk' ? JSON.parse(host.decodeText('utf-8', bytes, true, false)) : bytes, keyAlgorithm, extractable, usages);
};

class SubtleCrypto {
  async digest(algorithm, data) { return bufferOf(host.digest(normalize(algorithm, DIGESTS).name, bytesOf(data))); }
  async sign(algorithm, key, data) { return bufferOf(sign(algorithm, key, data)); }
  async verify(algorithm, key, signature, data) { return verify(algorithm, key, signature, data); }
  async encrypt(algorithm, key, data) { return bufferOf(crypt(algorithm, key, data, true, 'encrypt')); }
  async decrypt(algorithm, key, data) { return bufferOf(crypt(algorithm, key, data, false, 'decrypt')); }
  async deriveBits(algorithm, key, length) { return bufferOf(deriveBits(algorithm, key, length, 'deriveBits')); }
  async deriveKey(algorithm, key, derived, extractable, usages) {
    return importKey('raw', deriveBits(algorithm, key, lengthOfKey(derived), 'deriveKey'), derived, extractable, usages);
  }
  async importKey(format, data, algorithm, extractable, usages) { return importKey(format, data, algorithm, extractable, usages); }
  async exportKey(format, key) { return exportKey(format, key); }
  async generateKey(algorithm, extractable, usages) { return generateKey(algorithm, extractable, usages); }
  async wrapKey(format, key, wrapping, algorithm) { return bufferOf(wrapKey(format, key, wrapping, algorithm)); }
  async unwrapKey(format, wrapped, unwrapping, algorithm, keyAlgorithm, extractable, usages) {
    return unwrapKey(format, wrapped, unwrapping, algorithm, keyAlgorithm, extractable, usages);
  }
  get [Symbol.toStringTag]() { return 'SubtleCrypto'; }
}
internal.makeEnumerable(SubtleCrypto.prototype);

return { subtle: new SubtleCrypto(), SubtleCrypto };
