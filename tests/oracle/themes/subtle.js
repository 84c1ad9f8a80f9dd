'use strict';
// crypto.subtle.
const { subtle } = globalThis.crypto;
const { privateKey, publicKey, ecPrivate, edPrivate } = require('./keys.js');

const der = (pem) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
const DATA = Buffer.from('data');

module.exports = async ({ bytes, hex, checkLater }) => {
  for (const name of ['SHA-1', 'SHA-256', 'sha-384', { name: 'SHA-512' }, 'MD5']) await checkLater(`digest ${JSON.stringify(name)}`, async () => hex(await subtle.digest(name, DATA)));
  for (const hash of ['SHA-1', 'SHA-256', 'SHA-512']) {
    await checkLater(`HMAC ${hash}`, async () => {
      const key = await subtle.importKey('raw', bytes(20), { name: 'HMAC', hash }, true, ['sign', 'verify']);
      const signature = await subtle.sign('HMAC', key, DATA);
      return [hex(signature), await subtle.verify('HMAC', key, signature, DATA), await subtle.verify('HMAC', key, signature, Buffer.from('x')), await subtle.exportKey('jwk', key), key.algorithm];
    });
  }
  const CIPHERS = [['AES-CBC', { iv: bytes(16) }], ['AES-CTR', { counter: bytes(16), length: 64 }], ['AES-GCM', { iv: bytes(12), additionalData: bytes(4) }], ['AES-GCM', { iv: bytes(16) }]];
  for (const [name, rest] of CIPHERS) for (const size of [16, 32]) {
    await checkLater(`${name} ${size}`, async () => {
      const key = await subtle.importKey('raw', bytes(size), name, true, ['encrypt', 'decrypt']);
      const sealed = await subtle.encrypt({ name, ...rest }, key, DATA);
      return [hex(sealed), hex(await subtle.decrypt({ name, ...rest }, key, sealed)), (await subtle.exportKey('jwk', key)).alg];
    });
  }
  await checkLater('AES-GCM refuses what was changed', async () => {
    const key = await subtle.importKey('raw', bytes(16), 'AES-GCM', false, ['decrypt']);
    return subtle.decrypt({ name: 'AES-GCM', iv: bytes(12) }, key, bytes(32));
  });
  await checkLater('PBKDF2', async () => {
    const key = await subtle.importKey('raw', DATA, 'PBKDF2', false, ['deriveBits', 'deriveKey']);
    const settings = { name: 'PBKDF2', salt: bytes(8), iterations: 10, hash: 'SHA-256' };
    const made = await subtle.deriveKey(settings, key, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
    return [hex(await subtle.deriveBits(settings, key, 128)), hex(await subtle.exportKey('raw', made)), made.usages];
  });
  await checkLater('HKDF', async () => {
    const key = await subtle.importKey('raw', DATA, 'HKDF', false, ['deriveBits']);
    return hex(await subtle.deriveBits({ name: 'HKDF', salt: bytes(8), info: bytes(3), hash: 'SHA-512' }, key, 256));
  });
  await pairs({ hex, checkLater });
};

const pairs = async ({ hex, checkLater }) => {
  await checkLater('RSASSA-PKCS1-v1_5', async () => {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const key = await subtle.importKey('pkcs8', der(privateKey), algorithm, true, ['sign']);
    const other = await subtle.importKey('spki', der(publicKey), algorithm, true, ['verify']);
    const signature = await subtle.sign(algorithm.name, key, DATA);
    const { key_ops, ...jwk } = await subtle.exportKey('jwk', key);
    return [hex(signature), await subtle.verify(algorithm.name, other, signature, DATA), Object.entries(jwk).sort(), other.algorithm.modulusLength, hex(await subtle.exportKey('spki', other))];
  });
  await checkLater('RSA-OAEP round trip', async () => {
    const algorithm = { name: 'RSA-OAEP', hash: 'SHA-256' };
    const key = await subtle.importKey('pkcs8', der(privateKey), algorithm, true, ['decrypt']);
    const other = await subtle.importKey('spki', der(publicKey), algorithm, true, ['encrypt']);
    return hex(await subtle.decrypt(algorithm, key, await subtle.encrypt(algorithm, other, DATA)));
  });
  await checkLater('ECDSA round trip', async () => {
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const key = await subtle.importKey('pkcs8', der(ecPrivate), algorithm, true, ['sign']);
    const { d, key_ops, ...jwk } = await subtle.exportKey('jwk', key);
    const other = await subtle.importKey('jwk', jwk, algorithm, true, ['verify']);
    const signature = await subtle.sign(algorithm, key, DATA);
    return [signature.byteLength, await subtle.verify(algorithm, other, signature, DATA), hex(await subtle.exportKey('raw', other)), jwk.x];
  });
  await checkLater('Ed25519', async () => {
    const key = await subtle.importKey('pkcs8', der(edPrivate), 'Ed25519', true, ['sign']);
    return hex(await subtle.sign('Ed25519', key, DATA));
  });
  await checkLater('ECDH', async () => {
    const [a, b] = await Promise.all([1, 2].map(() => subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, ['deriveBits'])));
    const one = await subtle.deriveBits({ name: 'ECDH', public: b.publicKey }, a.privateKey, 256);
    return hex(one) === hex(await subtle.deriveBits({ name: 'ECDH', public: a.publicKey }, b.privateKey, 256));
  });
  await checkLater('a key that may not leave', async () => subtle.exportKey('raw', await subtle.generateKey({ name: 'AES-CBC', length: 128 }, false, ['encrypt'])));
  await checkLater('a key used for something else', async () => subtle.sign('HMAC', await subtle.generateKey({ name: 'AES-CBC', length: 128 }, false, ['encrypt']), DATA));
  await checkLater('an unknown algorithm', async () => subtle.importKey('raw', DATA, 'ROT13', true, ['encrypt']));
};
