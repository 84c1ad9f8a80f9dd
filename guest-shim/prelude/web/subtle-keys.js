'use strict';
// Keys of crypto.subtle: importing, exporting, generating. One entry per algorithm says what it can.
const { DOMException } = internal.lazy('web/dom-exception');
const { makeKey, materialOf } = internal.lazy('web/crypto-key');
const { bytesOf, bufferOf } = internal.lazy('web/bytes');

const fail = (message, name) => { throw new DOMException(message, name); };
const HASH_BITS = { 'SHA-1': 512, 'SHA-256': 512, 'SHA-384': 1024, 'SHA-512': 1024 };

// Names are compared without regard to case; the rest of an algorithm is kept as given.
const normalize = (algorithm, names) => {
  const given = typeof algorithm === 'string' ? { name: algorithm } : algorithm;
  if (typeof given !== 'object' || given === null || given.name === undefined) throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "algorithm" argument must be a string or an object with a name.', TypeError);
  const name = names.find((known) => known.toLowerCase() === String(given.name).toLowerCase());
  if (name === undefined) fail('Unrecognized algorithm name', 'NotSupportedError');
  return { ...given, name };
};
const hashOf = (algorithm) => normalize(algorithm.hash, Object.keys(HASH_BITS)).name;

const SECRETS = {
  HMAC: { usages: ['sign', 'verify'], jwk: ({ hash }) => `HS${hash.name.slice(4)}` },
  'AES-CBC': { usages: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'], jwk: ({ length }) => `A${length}CBC` },
  'AES-CTR': { usages: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'], jwk: ({ length }) => `A${length}CTR` },
  'AES-GCM': { usages: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'], jwk: ({ length }) => `A${length}GCM` },
  'AES-KW': { usages: ['wrapKey', 'unwrapKey'], jwk: ({ length }) => `A${length}KW` },
  PBKDF2: { usages: ['deriveKey', 'deriveBits'], isRawOnly: true },
  HKDF: { usages: ['deriveKey', 'deriveBits'], isRawOnly: true },
};
const PAIRS = {
  'RSASSA-PKCS1-v1_5': { kind: 'rsa', private: ['sign'], public: ['verify'] },
  'RSA-PSS': { kind: 'rsa', private: ['sign'], public: ['verify'] },
  'RSA-OAEP': { kind: 'rsa', private: ['decrypt', 'unwrapKey'], public: ['encrypt', 'wrapKey'] },
  ECDSA: { kind: 'ec', private: ['sign'], public: ['verify'] },
  ECDH: { kind: 'ec', private: ['deriveKey', 'deriveBits'], public: [] },
  Ed25519: { kind: 'ed25519', private: ['sign'], public: ['verify'] },
  X25519: { kind: 'x25519', private: ['deriveKey', 'deriveBits'], public: [] },
};
const NAMES = [...Object.keys(SECRETS), ...Object.keys(PAIRS)];

const checkUsages = (usages, allowed) => {
  for (const usage of usages) if (!allowed.includes(usage)) fail(`Unsupported key usage for this key: ${usage}`, 'SyntaxError');
};

const secretAlgorithm = (algorithm, bytes) => {
  const { name } = algorithm;
  if (name === 'HMAC') return { name, hash: { name: hashOf(algorithm) }, length: algorithm.length ?? bytes.length * 8 };
  if (!name.startsWith('AES-')) return { name };
  if (![16, 24, 32].includes(bytes.length)) fail('Invalid key length', 'DataError');
  return { name, length: bytes.length * 8 };
};

const importSecret = (format, data, algorithm, extractable, usages) => {
  const rule = SECRETS[algorithm.name];
  checkUsages(usages, rule.usages);
  if (usages.length === 0) fail('Usages cannot be empty when importing a secret key.', 'SyntaxError');
  let bytes;
  if (format === 'raw') bytes = bytesOf(data).slice();
  else if (format === 'jwk' && !rule.isRawOnly) {
    if (data?.kty !== 'oct' || typeof data.k !== 'string') fail('Invalid keyData', 'DataError');
    bytes = host.decodeBase64(data.k);
  } else fail(`Unable to import ${algorithm.name} key with format ${format}`, 'NotSupportedError');
  if (algorithm.name === 'HMAC' && bytes.length === 0) fail('Zero-length key is not supported', 'DataError');
  if (rule.isRawOnly && extractable) fail(`${algorithm.name} keys are not extractable`, 'SyntaxError');
  return makeKey('secret', extractable, secretAlgorithm(algorithm, bytes), usages, bytes);
};

// The SPKI of an uncompressed point: the header is the same for every key of a curve.
const SPKI_HEADERS = {
  'P-256': '3059301306072a8648ce3d020106082a8648ce3d030107034200',
  'P-384': '3076301006072a8648ce3d020106052b81040022036200',
  'P-521': '30819b301006072a8648ce3d020106052b8104002303818600',
  Ed25519: '302a300506032b6570032100',
  X25519: '302a300506032b656e032100',
};
const spkiOfRaw = (curve, raw) => {
  if (SPKI_HEADERS[curve] === undefined) fail('Unrecognized namedCurve', 'NotSupportedError');
  return new Uint8Array([...host.decodeHex(SPKI_HEADERS[curve]), ...raw]);
};

const parsePair = (format, data, algorithm) => {
  try {
    if (format === 'jwk') return host.keyFromJwk(data);
    if (format === 'raw') return host.keyParse(spkiOfRaw(algorithm.namedCurve ?? algorithm.name, bytesOf(data)));
    if (format === 'pkcs8' || format === 'spki') return host.keyParse(bytesOf(data));
  } catch (error) {
    if (error instanceof DOMException) throw error;
    fail(`Invalid keyData: ${error.message}`, 'DataError');
  }
  return fail(`Unsupported key format ${format}`, 'NotSupportedError');
};

const pairAlgorithm = (algorithm, der, detail) => {
  const { name } = algorithm;
  if (PAIRS[name].kind === 'ed25519' || PAIRS[name].kind === 'x25519') return { name };
  if (PAIRS[name].kind === 'ec') return { name, namedCurve: detail };
  const exponent = host.decodeBase64(host.keyToJwk(der).e);
  return { name, modulusLength: detail, publicExponent: exponent, hash: { name: hashOf(algorithm) } };
};

const importPair = (format, data, algorithm, extractable, usages) => {
  const rule = PAIRS[algorithm.name];
  const [isPrivate, kind, detail, der] = parsePair(format, data, algorithm);
  if (kind !== rule.kind || (format === 'pkcs8' && !isPrivate) || (format === 'spki' && isPrivate)) fail('Invalid key type', 'DataError');
  if (rule.kind === 'ec' && algorithm.namedCurve !== detail) fail('Named curve mismatch', 'DataError');
  checkUsages(usages, isPrivate ? rule.private : rule.public);
  if (isPrivate && usages.length === 0) fail('Usages cannot be empty when importing a private key.', 'SyntaxError');
  return makeKey(isPrivate ? 'private' : 'public', extractable || !isPrivate, pairAlgorithm(algorithm, der, detail), usages, der);
};

const importKey = (format, data, given, extractable, usages) => {
  const algorithm = normalize(given, NAMES);
  const make = SECRETS[algorithm.name] === undefined ? importPair : importSecret;
  return make(format, data, algorithm, Boolean(extractable), [...usages]);
};

const exportKey = (format, key) => {
  if (!key.extractable) fail('key is not extractable', 'InvalidAccessError');
  const material = materialOf(key);
  if (format === 'jwk') return exportJwk(key, material);
  if (format === 'raw' && key.type === 'secret') return bufferOf(material);
  if (format === 'raw' && key.type === 'public') {
    const header = SPKI_HEADERS[key.algorithm.namedCurve ?? key.algorithm.name];
    if (header !== undefined) return bufferOf(material.subarray(header.length / 2));
  }
  if ((format === 'pkcs8' && key.type === 'private') || (format === 'spki' && key.type === 'public')) return bufferOf(material);
  return fail(`Unable to export a raw ${key.algorithm.name} ${key.type} key as ${format}`, 'NotSupportedError');
};

const RSA_JWK = { 'RSASSA-PKCS1-v1_5': 'RS', 'RSA-PSS': 'PS', 'RSA-OAEP': 'RSA-OAEP' };
const pairJwkName = ({ name, hash }) => {
  if (name === 'RSA-OAEP') return hash.name === 'SHA-1' ? 'RSA-OAEP' : `RSA-OAEP-${hash.name.slice(4)}`;
  return RSA_JWK[name] === undefined ? undefined : RSA_JWK[name] + hash.name.slice(4);
};

const exportJwk = (key, material) => {
  const shared = { key_ops: [...key.usages], ext: key.extractable };
  if (key.type === 'secret') return { ...shared, kty: 'oct', k: host.encodeBase64(material, true), alg: SECRETS[key.algorithm.name].jwk(key.algorithm) };
  const alg = pairJwkName(key.algorithm);
  return { ...shared, ...host.keyToJwk(material), ...(alg === undefined ? {} : { alg }) };
};

const generateSecret = (algorithm, extractable, usages) => {
  const rule = SECRETS[algorithm.name];
  if (rule.isRawOnly) fail('The algorithm cannot generate keys', 'NotSupportedError');
  checkUsages(usages, rule.usages);
  if (usages.length === 0) fail('Usages cannot be empty when creating a key.', 'SyntaxError');
  const bits = algorithm.name === 'HMAC' ? algorithm.length ?? HASH_BITS[hashOf(algorithm)] : algorithm.length;
  if (!Number.isInteger(bits) || bits <= 0 || (algorithm.name !== 'HMAC' && ![128, 192, 256].includes(bits))) fail('Invalid key length', 'OperationError');
  const bytes = host.random(Math.ceil(bits / 8));
  return makeKey('secret', extractable, secretAlgorithm(algorithm, bytes), usages, bytes);
};

const generatePair = (algorithm, extractable, usages) => {
  const rule = PAIRS[algorithm.name];
  checkUsages(usages, [...rule.private, ...rule.public]);
  const ofPrivate = usages.filter((usage) => rule.private.includes(usage));
  if (ofPrivate.length === 0) fail('Usages cannot be empty when creating a key.', 'SyntaxError');
  const kind = rule.kind === 'rsa' ? 'rsa' : rule.kind === 'ec' ? algorithm.namedCurve : algorithm.name;
  let pair;
  try {
    pair = host.generateKeyPair(kind, rule.kind === 'rsa' ? algorithm.modulusLength : undefined);
  } catch (error) {
    fail(error.message, rule.kind === 'ec' ? 'NotSupportedError' : 'OperationError');
  }
  const made = pairAlgorithm(algorithm, pair.publicSpki, rule.kind === 'rsa' ? algorithm.modulusLength : algorithm.namedCurve);
  return {
    publicKey: makeKey('public', true, made, usages.filter((usage) => rule.public.includes(usage)), pair.publicSpki),
    privateKey: makeKey('private', extractable, made, ofPrivate, pair.privatePkcs8),
  };
};

const generateKey = (given, extractable, usages) => {
  const algorithm = normalize(given, NAMES);
  const make = SECRETS[algorithm.name] === undefined ? generatePair : generateSecret;
  return make(algorithm, Boolean(extractable), [...usages]);
};

return { normalize, hashOf, importKey, exportKey, generateKey, fail, HASH_BITS };
