'use strict';
// crypto.subtle: the curves and the wrapping of keys.
const { subtle } = globalThis.crypto;
const { privateKey, publicKey, ecPrivate } = require('./keys.js');
const { p384Private, p521Private, x25519Private, x25519Other } = require('./keys-more.js');

const der = (pem) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
const DATA = Buffer.from('data');
const CURVES = { 'P-256': ecPrivate, 'P-384': p384Private, 'P-521': p521Private };

module.exports = async ({ bytes, hex, checkLater }) => {
  for (const [namedCurve, pem] of Object.entries(CURVES)) {
    for (const hash of ['SHA-256', 'SHA-384', 'SHA-512']) {
      await checkLater(`ECDSA ${namedCurve} ${hash}`, async () => {
        const key = await subtle.importKey('pkcs8', der(pem), { name: 'ECDSA', namedCurve }, true, ['sign']);
        const { d, key_ops, ...jwk } = await subtle.exportKey('jwk', key);
        const other = await subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve }, true, ['verify']);
        const signature = await subtle.sign({ name: 'ECDSA', hash }, key, DATA);
        return [signature.byteLength, await subtle.verify({ name: 'ECDSA', hash }, other, signature, DATA), hex(await subtle.exportKey('raw', other)), hex(await subtle.exportKey('spki', other)), d, other.algorithm];
      });
    }
    await checkLater(`ECDH ${namedCurve}`, async () => {
      const algorithm = { name: 'ECDH', namedCurve };
      const [a, b] = await Promise.all([1, 2].map(() => subtle.generateKey(algorithm, true, ['deriveBits', 'deriveKey'])));
      const key = await subtle.deriveKey({ name: 'ECDH', public: b.publicKey }, a.privateKey, { name: 'AES-GCM', length: 256 }, true, ['encrypt']);
      const bits = await subtle.deriveBits({ name: 'ECDH', public: a.publicKey }, b.privateKey, 256);
      return [hex(await subtle.exportKey('raw', key)) === hex(bits), bits.byteLength];
    });
    await checkLater(`raw ${namedCurve}`, async () => {
      const { publicKey: made } = await subtle.generateKey({ name: 'ECDSA', namedCurve }, true, ['sign', 'verify']);
      const again = await subtle.importKey('raw', await subtle.exportKey('raw', made), { name: 'ECDSA', namedCurve }, true, ['verify']);
      return [hex(await subtle.exportKey('spki', made)) === hex(await subtle.exportKey('spki', again)), again.usages, again.type];
    });
  }
  await checkLater('X25519', async () => {
    const key = await subtle.importKey('pkcs8', der(x25519Private), { name: 'X25519' }, true, ['deriveBits']);
    const other = await subtle.importKey('spki', der(x25519Other), { name: 'X25519' }, true, []);
    return [hex(await subtle.deriveBits({ name: 'X25519', public: other }, key, 256)), hex(await subtle.exportKey('raw', other))];
  });
  for (const saltLength of [0, 20, 32]) {
    await checkLater(`RSA-PSS with a salt of ${saltLength}`, async () => {
      const algorithm = { name: 'RSA-PSS', hash: 'SHA-256' };
      const key = await subtle.importKey('pkcs8', der(privateKey), algorithm, false, ['sign']);
      const other = await subtle.importKey('spki', der(publicKey), algorithm, true, ['verify']);
      const signature = await subtle.sign({ name: 'RSA-PSS', saltLength }, key, DATA);
      return [saltLength === 0 ? hex(signature) : '', await subtle.verify({ name: 'RSA-PSS', saltLength }, other, signature, DATA), await subtle.verify({ name: 'RSA-PSS', saltLength: saltLength + 1 }, other, signature, DATA)];
    });
  }
  for (const tagLength of [32, 64, 96, 104, 112, 120, 128, 100]) {
    await checkLater(`AES-GCM with a tag of ${tagLength}`, async () => {
      const key = await subtle.importKey('raw', bytes(16), 'AES-GCM', false, ['encrypt', 'decrypt']);
      const settings = { name: 'AES-GCM', iv: bytes(12), tagLength };
      const sealed = await subtle.encrypt(settings, key, DATA);
      return [hex(sealed), hex(await subtle.decrypt(settings, key, sealed))];
    });
  }
  await wrapping({ bytes, hex, checkLater });
};

const wrapping = async ({ bytes, hex, checkLater }) => {
  for (const size of [16, 24, 32]) {
    await checkLater(`AES-KW ${size}`, async () => {
      const wrapper = await subtle.importKey('raw', bytes(size), 'AES-KW', true, ['wrapKey', 'unwrapKey']);
      const key = await subtle.importKey('raw', bytes(32), 'AES-CBC', true, ['encrypt']);
      const wrapped = await subtle.wrapKey('raw', key, wrapper, 'AES-KW');
      const again = await subtle.unwrapKey('raw', wrapped, wrapper, 'AES-KW', 'AES-CBC', true, ['encrypt']);
      return [hex(wrapped), hex(await subtle.exportKey('raw', again)), (await subtle.exportKey('jwk', wrapper)).alg];
    });
  }
  for (const [name, rest] of [['AES-GCM', { iv: bytes(12) }], ['AES-CBC', { iv: bytes(16) }], ['AES-CTR', { counter: bytes(16), length: 64 }]]) {
    for (const format of ['raw', 'jwk']) {
      await checkLater(`${name} wraps ${format}`, async () => {
        const wrapper = await subtle.importKey('raw', bytes(16), name, true, ['wrapKey', 'unwrapKey']);
        const key = await subtle.importKey('raw', bytes(20), { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
        const wrapped = await subtle.wrapKey(format, key, wrapper, { name, ...rest });
        const again = await subtle.unwrapKey(format, wrapped, wrapper, { name, ...rest }, { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']);
        return [hex(await subtle.exportKey('raw', again)), again.algorithm, again.usages];
      });
    }
  }
  await checkLater('RSA-OAEP wraps pkcs8', async () => {
    const algorithm = { name: 'RSA-OAEP', hash: 'SHA-1' };
    const wrapper = await subtle.importKey('spki', der(publicKey), algorithm, true, ['wrapKey']);
    const unwrapper = await subtle.importKey('pkcs8', der(privateKey), algorithm, true, ['unwrapKey']);
    const key = await subtle.importKey('pkcs8', der(ecPrivate), { name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
    const again = await subtle.unwrapKey('pkcs8', await subtle.wrapKey('pkcs8', key, wrapper, algorithm), unwrapper, algorithm, { name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign']);
    return hex(await subtle.exportKey('pkcs8', again));
  });
  await checkLater('AES-KW of what is no multiple of 8', async () => {
    const wrapper = await subtle.generateKey({ name: 'AES-KW', length: 128 }, true, ['wrapKey']);
    return subtle.wrapKey('raw', await subtle.importKey('raw', bytes(9), { name: 'HMAC', hash: 'SHA-256' }, true, ['sign']), wrapper, 'AES-KW');
  });
};
