'use strict';
// Node's crypto, as far as it is a function of its input.
const crypto = require('crypto');
const { privateKey, publicKey, ecPrivate, edPrivate } = require('./keys.js');

const HASHES = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha512-256', 'SHA256', 'RSA-SHA256', 'ripemd160', 'sha3-256', 'nope'];
const CIPHERS = [['aes-128-cbc', 16, 16], ['aes-192-cbc', 24, 16], ['aes-256-cbc', 32, 16], ['aes-256-ctr', 32, 16], ['aes-128-ecb', 16, 0], ['aes-128-gcm', 16, 12], ['aes-256-gcm', 32, 12], ['chacha20-poly1305', 32, 12]];

module.exports = ({ random, pick, bytes, hex, check }) => {
  for (const name of HASHES) for (const length of [0, 1, 55, 56, 64, 200]) {
    const data = bytes(length);
    check(`hash ${name} ${length}`, () => crypto.createHash(name).update(data).digest('hex'));
    check(`hmac ${name} ${length}`, () => crypto.createHmac(name, bytes(pick([0, 20, 200]))).update(data).digest('base64'));
  }
  for (let at = 0; at < 120; at++) {
    const [name, keyLength, ivLength] = pick(CIPHERS);
    const [key, iv, data] = [bytes(keyLength), ivLength === 0 ? null : bytes(ivLength), Buffer.from(bytes(random(40)))];
    check(`cipher ${name} ${hex(data)}`, () => {
      const options = name === 'chacha20-poly1305' ? { authTagLength: 16 } : undefined;
      const cipher = crypto.createCipheriv(name, key, iv, options);
      const sealed = Buffer.concat([cipher.update(data), cipher.final()]);
      const isSealed = /gcm|poly/.test(name);
      const decipher = crypto.createDecipheriv(name, key, iv, options);
      if (isSealed) decipher.setAuthTag(cipher.getAuthTag());
      const opened = Buffer.concat([decipher.update(sealed), decipher.final()]);
      return [sealed.toString('hex'), isSealed ? cipher.getAuthTag().toString('hex') : '', opened.equals(data)];
    });
  }
  check('gcm refuses what was changed', () => {
    const cipher = crypto.createCipheriv('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12)).setAAD(Buffer.from('a'));
    const sealed = Buffer.concat([cipher.update('data'), cipher.final()]);
    const decipher = crypto.createDecipheriv('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12)).setAAD(Buffer.from('b'));
    decipher.setAuthTag(cipher.getAuthTag());
    decipher.update(sealed);
    try {
      decipher.final();
      return 'accepted';
    } catch (error) {
      return error.message;
    }
  });
  for (let at = 0; at < 30; at++) {
    const [password, salt, length, rounds] = [bytes(random(20)), bytes(random(20)), 1 + random(70), 1 + random(20)];
    check(`pbkdf2 ${at}`, () => crypto.pbkdf2Sync(password, salt, rounds, length, pick(['sha1', 'sha256', 'sha512'])).toString('hex'));
    check(`hkdf ${at}`, () => hex(crypto.hkdfSync('sha256', password, salt, bytes(5), length)));
    check(`scrypt ${at}`, () => crypto.scryptSync(password, salt, length, { N: pick([2, 16, 64]), r: 1 + random(4), p: 1 + random(2) }).toString('hex'));
  }
  check('timingSafeEqual', () => [crypto.timingSafeEqual(Buffer.from('ab'), Buffer.from('ab')), crypto.timingSafeEqual(Buffer.from('ab'), Buffer.from('ac'))]);
  check('timingSafeEqual of other lengths', () => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')));
  check('shape of randomUUID', () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
  check('shape of randomBytes', () => [crypto.randomBytes(7).length, crypto.randomInt(5) < 5]);
  signatures({ check });
};

const signatures = ({ check }) => {
  for (const name of ['sha1', 'sha256', 'sha384', 'sha512', 'RSA-SHA256']) {
    check(`RSA sign ${name}`, () => crypto.createSign(name).update('data').sign(privateKey, 'hex'));
    check(`RSA verify ${name}`, () => crypto.createVerify(name).update('data').verify(publicKey, crypto.createSign(name).update('data').sign(privateKey)));
  }
  check('Ed25519 sign', () => crypto.sign(null, Buffer.from('data'), edPrivate).toString('hex'));
  check('ECDSA round trip', () => crypto.verify('sha256', Buffer.from('x'), crypto.createPublicKey(ecPrivate), crypto.sign('sha256', Buffer.from('x'), ecPrivate)));
  check('RSA jwk', () => crypto.createPublicKey(publicKey).export({ format: 'jwk' }));
  check('EC jwk', () => crypto.createPrivateKey(ecPrivate).export({ format: 'jwk' }));
  check('SPKI pem', () => crypto.createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }));
};
