'use strict';
// Signatures, and encryption with RSA keys.
const LazyTransform = internal.lazy('node/lazy-transform');
const { codedError, later, bytesOf, bufferOver } = internal;
const { hashName, output } = internal.lazy('node/crypto-hash');
const { createPrivateKey, createPublicKey } = internal.lazy('node/crypto-keys');

const PSS_PADDING = 6;
const OAEP_PADDING = 4;
const NO_PADDING = 3;
const CURVE_HASHES = { 'P-256': 'sha256', 'P-384': 'sha384', 'P-521': 'sha512' };
const SALT_OF_HASH = -1;
const LONGEST_SALT = -2;

const settingsOf = (given) => (typeof given === 'object' && given !== null && !ArrayBuffer.isView(given) && given.key !== undefined ? given : {});

// The name natives give to a hash together with the kind of key; `unsaid` is the length of a salt that is not given.
const algorithmOf = (algorithm, key, settings, unsaid) => {
  if (key.asymmetricKeyType === 'ed25519') return 'Ed25519';
  const hash = algorithm === null || algorithm === undefined ? CURVE_HASHES[key._curve] ?? 'sha256' : hashName(algorithm.replace(/^ecdsa-with-/i, '').replace(/withrsa(?:encryption)?$/i, ''));
  const size = /^sha(1|224|256|384|512)$/.exec(hash)?.[1];
  if (size === undefined) throw codedError('ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${algorithm}`, TypeError);
  if (key.asymmetricKeyType === 'ec') return `ES${size}${settings.dsaEncoding === 'ieee-p1363' ? '' : '-der'}`;
  if (settings.padding !== PSS_PADDING) return `RS${size}`;
  const { saltLength = LONGEST_SALT } = settings;
  if (saltLength === SALT_OF_HASH) return `PS${size}`;
  return `PS${size}/${saltLength === LONGEST_SALT ? unsaid : saltLength}`;
};

const signNow = (algorithm, data, given) => {
  const key = createPrivateKey(given);
  return bufferOver(host.sign(algorithmOf(algorithm, key, settingsOf(given), 'max'), key._der, bytesOf(data)));
};
const verifyNow = (algorithm, data, given, signature) => {
  const key = createPublicKey(given);
  return host.verify(algorithmOf(algorithm, key, settingsOf(given), 'auto'), key._der, bytesOf(data), bytesOf(signature, undefined, 'signature'));
};

class Collector extends LazyTransform {
  #chunks = [];
  constructor(algorithm, options) {
    super(options);
    this._algorithm = internal.nodeErrors.requireString(algorithm, 'algorithm');
  }
  _write(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  update(data, encoding) {
    this.#chunks.push(Uint8Array.from(bytesOf(data, encoding)));
    return this;
  }
  get _data() { return internal.Buffer.concat(this.#chunks); }
}
class Sign extends Collector {
  sign(key, encoding) { return output(signNow(this._algorithm, this._data, key), encoding); }
}
class Verify extends Collector {
  verify(key, signature, encoding) { return verifyNow(this._algorithm, this._data, key, typeof signature === 'string' ? internal.Buffer.from(signature, encoding) : signature); }
}

const requirePadding = ({ padding }, what) => { if (padding === NO_PADDING) throw internal.nodeErrors.unavailable(`${what} without padding`); };

const paddingOf = ({ padding = OAEP_PADDING, oaepHash = 'sha1' }) => (padding === OAEP_PADDING ? `oaep-${hashName(oaepHash)}` : 'pkcs1');
const labelOf = ({ oaepLabel }) => (oaepLabel === undefined ? null : internal.Buffer.from(bytesOf(oaepLabel)).toString());

return {
  Sign,
  Verify,
  createSign: (algorithm, options) => new Sign(algorithm, options),
  createVerify: (algorithm, options) => new Verify(algorithm, options),
  sign: (algorithm, data, key, callback) => (callback ? later(callback, () => signNow(algorithm, data, key)) : signNow(algorithm, data, key)),
  verify: (algorithm, data, key, signature, callback) => (callback ? later(callback, () => verifyNow(algorithm, data, key, signature)) : verifyNow(algorithm, data, key, signature)),
  privateEncrypt: (given, data) => {
    requirePadding(settingsOf(given), 'crypto.privateEncrypt');
    return bufferOver(host.rsaSignRaw(createPrivateKey(given)._der, bytesOf(data)));
  },
  publicDecrypt: (given, data) => {
    requirePadding(settingsOf(given), 'crypto.publicDecrypt');
    return bufferOver(host.rsaRecover(createPublicKey(given)._der, bytesOf(data)));
  },
  publicEncrypt: (given, data) => bufferOver(host.rsaEncrypt(paddingOf(settingsOf(given)), createPublicKey(given)._der, bytesOf(data), labelOf(settingsOf(given)))),
  privateDecrypt: (given, data) => bufferOver(host.rsaDecrypt(paddingOf(settingsOf(given)), createPrivateKey(given)._der, bytesOf(data), labelOf(settingsOf(given)))),
};
