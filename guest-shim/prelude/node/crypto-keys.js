'use strict';
// KeyObject, and every way to one: PEM, DER, JWK, CryptoKey, or made anew. Keys are kept as PKCS#8 and SPKI.
const { codedError, later, bytesOf } = internal;
const { invalidArgType, invalidArgValue, requireString } = internal.nodeErrors;

const CURVES = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1' };
const CURVE_NAMES = { prime256v1: 'P-256', 'P-256': 'P-256', secp256r1: 'P-256', secp384r1: 'P-384', 'P-384': 'P-384', secp521r1: 'P-521', 'P-521': 'P-521' };
const SECRET = Symbol('from within');

const toPem = (label, der) => {
  const lines = internal.Buffer.from(der).toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
};

class KeyObject {
  #type; #bytes; #kind; #detail;
  constructor(guard, type, bytes, kind, detail) {
    if (guard !== SECRET) throw invalidArgValue('type', guard);
    this.#type = type;
    this.#bytes = bytes;
    this.#kind = kind;
    this.#detail = detail;
  }
  static from(key) {
    if (!(key instanceof globalThis.CryptoKey)) throw invalidArgType('key', 'an instance of CryptoKey', key);
    const material = internal.lazy('web/crypto-key').materialOf(key);
    return key.type === 'secret' ? createSecretKey(material) : asymmetric(material);
  }
  get type() { return this.#type; }
  get asymmetricKeyType() { return this.#kind; }
  get asymmetricKeyDetails() {
    if (this.#type === 'secret') return undefined;
    if (this.#kind === 'rsa') return { modulusLength: this.#detail, publicExponent: 65537n };
    return this.#kind === 'ec' ? { namedCurve: CURVES[this.#detail] } : {};
  }
  get symmetricKeySize() { return this.#type === 'secret' ? this.#bytes.length : undefined; }
  get [Symbol.toStringTag]() { return 'KeyObject'; }
  get _der() { return this.#bytes; }
  get _curve() { return this.#detail; }
  equals(other) { return other instanceof KeyObject && other.type === this.#type && internal.Buffer.compare(other.#bytes, this.#bytes) === 0; }
  export(options = {}) {
    if (options.format === 'jwk') return this.#toJwk();
    if (this.#type === 'secret') return internal.Buffer.from(this.#bytes);
    return encoded(this, options);
  }
  #toJwk() {
    if (this.#type === 'secret') return { kty: 'oct', k: internal.Buffer.from(this.#bytes).toString('base64url') };
    return host.keyToJwk(this.#bytes);
  }
}

// A key as DER or PEM, in the form that `options.type` names, locked when there is a passphrase.
const encoded = (key, options) => {
  const isPrivate = key.type === 'private';
  const { type = isPrivate ? 'pkcs8' : 'spki', format = 'pem', cipher, passphrase } = options;
  const isFitting = type === 'pkcs1' ? key.asymmetricKeyType === 'rsa' : type === 'sec1' ? isPrivate && key.asymmetricKeyType === 'ec' : type === (isPrivate ? 'pkcs8' : 'spki');
  if (!isFitting) throw codedError('ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', `The selected key encoding ${type} cannot be used for this key.`);
  const isTraditional = type === 'pkcs1' || type === 'sec1';
  let der = isTraditional ? host.keyEncode(key._der, type) : key._der;
  if (cipher !== undefined) {
    if (isTraditional) throw internal.nodeErrors.unavailable(`encrypting a key as ${type}`, 'export it as pkcs8');
    der = host.keyLock(key._der, requireString(cipher, 'options.cipher'), Uint8Array.from(bytesOf(passphrase, 'utf8', 'options.passphrase')));
  }
  if (format === 'der') return internal.Buffer.from(der);
  const kind = type === 'pkcs1' ? 'RSA ' : type === 'sec1' ? 'EC ' : cipher === undefined ? '' : 'ENCRYPTED ';
  return toPem(`${kind}${isPrivate ? 'PRIVATE' : 'PUBLIC'} KEY`, der);
};

const asymmetric = (bytes, passphrase) => described(host.keyParse(bytes, passphrase ?? null));
const described = ([isPrivate, kind, detail, der]) => new KeyObject(SECRET, isPrivate ? 'private' : 'public', internal.Buffer.from(der), kind, detail);

// What Node takes for a key: text, bytes, a KeyObject, a CryptoKey, or an object around one of these.
const parse = (given) => {
  if (given instanceof KeyObject) return given;
  if (typeof given === 'string' || ArrayBuffer.isView(given) || given instanceof ArrayBuffer) return asymmetric(Uint8Array.from(bytesOf(given)));
  if (typeof given === 'object' && given !== null && given.key === undefined && given instanceof globalThis.CryptoKey) return KeyObject.from(given);
  if (typeof given !== 'object' || given === null || given.key === undefined) throw invalidArgType('key', ['string', 'an instance of Buffer', 'KeyObject', 'Object'], given);
  if (given.format === 'jwk') return described(host.keyFromJwk(given.key));
  const inner = typeof given.key === 'string' && given.encoding ? internal.Buffer.from(given.key, given.encoding) : given.key;
  const isText = typeof inner === 'string' || ArrayBuffer.isView(inner) || inner instanceof ArrayBuffer;
  if (given.passphrase === undefined || !isText) return parse(inner);
  return asymmetric(Uint8Array.from(bytesOf(inner)), Uint8Array.from(bytesOf(given.passphrase, 'utf8', 'key.passphrase')));
};

const createPrivateKey = (given) => {
  const key = parse(given);
  // Told apart as Node does: OpenSSL never looks for a public key here.
  if (key.type !== 'private' && given !== key) throw codedError('ERR_OSSL_UNSUPPORTED', 'error:1E08010C:DECODER routines::unsupported');
  if (key.type !== 'private') throw codedError('ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', `Invalid key object type ${key.type}, expected private.`, TypeError);
  return key;
};
const createPublicKey = (given) => {
  const key = parse(given);
  return key.type === 'private' ? asymmetric(host.publicKeyOf(key._der)) : key;
};
const createSecretKey = (given, encoding) => new KeyObject(SECRET, 'secret', internal.Buffer.from(bytesOf(given, encoding, 'key')));

// === new keys ===

const KINDS = {
  rsa: (options) => host.generateKeyPair('rsa', options.modulusLength),
  'rsa-pss': (options) => host.generateKeyPair('rsa', options.modulusLength),
  ec: (options) => {
    const curve = CURVE_NAMES[options.namedCurve];
    if (curve === undefined) throw codedError('ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name', TypeError);
    return host.generateKeyPair(curve, null);
  },
  ed25519: () => host.generateKeyPair('Ed25519', null),
  x25519: () => host.generateKeyPair('X25519', null),
};

const generateKeyPairSync = (kind, options = {}) => {
  const make = KINDS[requireString(kind, 'type')];
  if (make === undefined) throw invalidArgValue('type', kind, 'must be a supported key type');
  const { privatePkcs8, publicSpki } = make(options);
  const pair = { publicKey: asymmetric(publicSpki), privateKey: asymmetric(privatePkcs8) };
  if (options.publicKeyEncoding) pair.publicKey = pair.publicKey.export(options.publicKeyEncoding);
  if (options.privateKeyEncoding) pair.privateKey = pair.privateKey.export(options.privateKeyEncoding);
  return pair;
};
const generateKeyPair = (kind, options, callback) => {
  const [settings, done] = typeof options === 'function' ? [{}, options] : [options, callback];
  later((error, pair) => (error ? done(error) : done(null, pair.publicKey, pair.privateKey)), () => generateKeyPairSync(kind, settings));
};
generateKeyPair[Symbol.for('nodejs.util.promisify.custom')] = async (kind, options) => generateKeyPairSync(kind, options);

const generateKeySync = (kind, { length }) => createSecretKey(host.random(kind === 'aes' ? length / 8 : length >> 3));

return {
  KeyObject,
  CURVE_NAMES,
  parse,
  createSecretKey,
  createPublicKey,
  createPrivateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  generateKey: (kind, options, callback) => later(callback, () => generateKeySync(kind, options)),
};
