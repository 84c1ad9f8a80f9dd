'use strict';
// Secrets that two keys agree on: ECDH as Node has it, over points and numbers, and diffieHellman over KeyObjects.
const { codedError, later, bytesOf, bufferOver } = internal;
const { output } = internal.lazy('node/crypto-hash');
const { KeyObject, CURVE_NAMES } = internal.lazy('node/crypto-keys');

const SIZES = { 'P-256': 32, 'P-384': 48, 'P-521': 66 };
const COMPRESSED = 2;
const UNCOMPRESSED = 4;
const HYBRID = 6;
const FORMATS = { compressed: COMPRESSED, uncompressed: UNCOMPRESSED, hybrid: HYBRID };

const curveOf = (name) => {
  const curve = CURVE_NAMES[internal.nodeErrors.requireString(name, 'curve')];
  if (curve === undefined) throw codedError('ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name', TypeError);
  return curve;
};

const base64url = (bytes) => host.encodeBase64(bytes, true);
const invalidPoint = () => codedError('ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Public key is not valid for specified curve');

// DER of an element whose content is shorter than 256 bytes.
const der = (tag, content) => [tag, ...(content.length < 128 ? [content.length] : [0x81, content.length]), ...content];
const OIDS = {
  'P-256': [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
  'P-384': [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22],
  'P-521': [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23],
};
const EC_KEY = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

// The SPKI of a point in any of its three forms.
const spkiOf = (curve, point) => {
  const plain = Uint8Array.from(point);
  if (plain[0] === HYBRID || plain[0] === HYBRID + 1) plain[0] = UNCOMPRESSED;
  try {
    return host.keyParse(Uint8Array.from(der(0x30, [...der(0x30, [...EC_KEY, ...OIDS[curve]]), ...der(0x03, [0, ...plain])])))[3];
  } catch {
    throw invalidPoint();
  }
};

// A point as bytes, from a key's SPKI.
const pointOf = (curve, spki, format = 'uncompressed') => {
  const kind = typeof format === 'number' ? format : FORMATS[format];
  if (!Object.values(FORMATS).includes(kind)) throw codedError('ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${format}`, TypeError);
  const { x, y } = host.keyToJwk(spki);
  const [xs, ys] = [x, y].map((text) => host.decodeBase64(text));
  const sign = ys[SIZES[curve] - 1] & 1;
  if (kind === COMPRESSED) return Uint8Array.from([COMPRESSED + sign, ...xs]);
  return Uint8Array.from([kind === HYBRID ? HYBRID + sign : UNCOMPRESSED, ...xs, ...ys]);
};

class ECDH {
  #curve;
  #private;
  #public;
  constructor(name) { this.#curve = curveOf(name); }
  static convertKey(key, name, inputEncoding, outputEncoding, format) {
    const curve = curveOf(name);
    return output(pointOf(curve, spkiOf(curve, bytesOf(key, inputEncoding, 'key')), format), outputEncoding);
  }
  generateKeys(encoding, format) {
    const { privatePkcs8, publicSpki } = host.generateKeyPair(this.#curve, null);
    this.#private = privatePkcs8;
    this.#public = publicSpki;
    return this.getPublicKey(encoding, format);
  }
  computeSecret(other, inputEncoding, outputEncoding) {
    if (this.#private === undefined) throw codedError('ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'There is no private key');
    return output(host.ecdh(this.#private, spkiOf(this.#curve, bytesOf(other, inputEncoding, 'otherPublicKey'))), outputEncoding);
  }
  getPublicKey(encoding, format) {
    if (this.#public === undefined) throw codedError('ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Failed to get ECDH public key');
    return output(pointOf(this.#curve, this.#public, format), encoding);
  }
  getPrivateKey(encoding) {
    if (this.#private === undefined) throw codedError('ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Failed to get ECDH private key');
    return output(host.decodeBase64(host.keyToJwk(this.#private).d), encoding);
  }
  setPrivateKey(key, encoding) {
    const given = bytesOf(key, encoding, 'key');
    const scalar = new Uint8Array(SIZES[this.#curve]);
    if (given.length > scalar.length) throw codedError('ERR_CRYPTO_INVALID_KEYTYPE', 'Private key is not valid for specified curve.');
    scalar.set(given, scalar.length - given.length);
    try {
      [, , , this.#private] = host.keyFromJwk({ kty: 'EC', crv: this.#curve, d: base64url(scalar) });
    } catch {
      throw codedError('ERR_CRYPTO_INVALID_KEYTYPE', 'Private key is not valid for specified curve.');
    }
    this.#public = host.publicKeyOf(this.#private);
  }
  setPublicKey(key, encoding) { this.#public = spkiOf(this.#curve, bytesOf(key, encoding, 'key')); }
}

const diffieHellman = ({ privateKey, publicKey }) => {
  for (const [name, key] of [['privateKey', privateKey], ['publicKey', publicKey]]) {
    if (!(key instanceof KeyObject)) throw internal.nodeErrors.invalidArgValue(`options.${name}`, key);
  }
  return bufferOver(host.ecdh(privateKey._der, publicKey._der));
};

return {
  ECDH,
  createECDH: (name) => new ECDH(name),
  diffieHellman: (options, callback) => (callback === undefined ? diffieHellman(options) : later(callback, () => diffieHellman(options))),
};
