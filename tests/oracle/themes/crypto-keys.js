'use strict';
// Node's crypto with keys: every form they are read and written in, and what is done with them.
const crypto = require('crypto');
const { privateKey, publicKey, ecPrivate, edPrivate } = require('./keys.js');
const { p384Private, p521Private, x25519Private, x25519Other, rsaSmall, locked } = require('./keys-more.js');

const PRIVATE = { rsa: privateKey, 'P-256': ecPrivate, 'P-384': p384Private, 'P-521': p521Private, ed25519: edPrivate, x25519: x25519Private, 'rsa as pkcs1': rsaSmall };
const DATA = Buffer.from('data');
const sorted = (jwk) => Object.entries(jwk).sort();

module.exports = (tools) => {
  forms(tools);
  lockedKeys(tools);
  signatures(tools);
  agreement(tools);
  ciphers(tools);
};

const forms = ({ check }) => {
  for (const [name, pem] of Object.entries(PRIVATE)) {
    const key = crypto.createPrivateKey(pem);
    const open = crypto.createPublicKey(pem);
    check(`type of ${name}`, () => [key.type, key.asymmetricKeyType, open.type, open.asymmetricKeyType, key.asymmetricKeyDetails, key.symmetricKeySize]);
    for (const format of ['pem', 'der']) {
      for (const type of ['pkcs8', 'pkcs1', 'sec1']) check(`${name} as ${type} ${format}`, () => key.export({ type, format }).toString('hex'));
      for (const type of ['spki', 'pkcs1']) check(`public ${name} as ${type} ${format}`, () => open.export({ type, format }).toString('hex'));
    }
    check(`${name} as jwk`, () => [sorted(key.export({ format: 'jwk' })), sorted(open.export({ format: 'jwk' }))]);
    check(`${name} from jwk`, () => [
      crypto.createPrivateKey({ key: key.export({ format: 'jwk' }), format: 'jwk' }).export({ type: 'pkcs8', format: 'pem' }) === key.export({ type: 'pkcs8', format: 'pem' }),
      crypto.createPublicKey({ key: open.export({ format: 'jwk' }), format: 'jwk' }).equals(open),
    ]);
    check(`${name} from der`, () => crypto.createPrivateKey({ key: key.export({ type: 'pkcs8', format: 'der' }), format: 'der', type: 'pkcs8' }).equals(key));
    check(`${name} as a public key`, () => crypto.createPublicKey(key).equals(open));
  }
  check('secret key', () => {
    const key = crypto.createSecretKey('abc', 'utf8');
    return [key.type, key.symmetricKeySize, key.export().toString('hex'), key.export({ format: 'jwk' }), key.equals(crypto.createSecretKey(Buffer.from('abc')))];
  });
  check('a public key is no private one', () => crypto.createPrivateKey(publicKey));
};

const lockedKeys = ({ check }) => {
  for (const [name, pem] of Object.entries(locked)) {
    check(`locked ${name}`, () => crypto.createPrivateKey({ key: pem, passphrase: 'secret' }).export({ type: 'pkcs8', format: 'pem' }));
    check(`locked ${name} as bytes`, () => crypto.createPrivateKey({ key: Buffer.from(pem), passphrase: Buffer.from('secret') }).asymmetricKeyType);
  }
  for (const cipher of ['aes-128-cbc', 'aes-256-cbc']) {
    check(`locking with ${cipher}`, () => {
      const key = crypto.createPrivateKey(ecPrivate);
      const pem = key.export({ type: 'pkcs8', format: 'pem', cipher, passphrase: 'x' });
      return [pem.split('\n')[0], crypto.createPrivateKey({ key: pem, passphrase: 'x' }).equals(key)];
    });
  }
  check('signing with a locked key', () => crypto.createSign('sha256').update('x').sign({ key: locked['pkcs1 aes-256-cbc'], passphrase: 'secret' }, 'hex'));
  check('generating a locked key', () => {
    const { privateKey: pem } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256', privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'p' }, publicKeyEncoding: { type: 'spki', format: 'pem' } });
    return crypto.createPrivateKey({ key: pem, passphrase: 'p' }).asymmetricKeyType;
  });
};

const signatures = ({ check }) => {
  const { constants } = crypto;
  const PSS = constants.RSA_PKCS1_PSS_PADDING;
  for (const hash of ['sha1', 'sha224', 'sha256', 'sha384', 'sha512']) {
    check(`RSA ${hash}`, () => crypto.sign(hash, DATA, privateKey).toString('hex'));
    for (const curve of ['P-256', 'P-384', 'P-521']) {
      check(`${curve} ${hash} round trip`, () => {
        const signature = crypto.sign(hash, DATA, { key: PRIVATE[curve], dsaEncoding: 'ieee-p1363' });
        const key = crypto.createPublicKey(PRIVATE[curve]);
        const der = crypto.sign(hash, DATA, PRIVATE[curve]);
        return [signature.length, crypto.verify(hash, DATA, { key, dsaEncoding: 'ieee-p1363' }, signature), crypto.verify(hash, DATA, key, der), crypto.verify(hash, Buffer.from('x'), key, der), der[0]];
      });
    }
    for (const saltLength of [undefined, 0, 20, 32, constants.RSA_PSS_SALTLEN_DIGEST, constants.RSA_PSS_SALTLEN_MAX_SIGN]) {
      check(`PSS ${hash} with a salt of ${saltLength}`, () => {
        const signature = crypto.sign(hash, DATA, { key: privateKey, padding: PSS, saltLength });
        return [undefined, saltLength, 20, constants.RSA_PSS_SALTLEN_DIGEST].map((length) => crypto.verify(hash, DATA, { key: publicKey, padding: PSS, saltLength: length }, signature));
      });
    }
  }
  check('PSS without a salt', () => crypto.sign('sha256', DATA, { key: privateKey, padding: PSS, saltLength: 0 }).toString('hex'));
  check('private encryption', () => {
    const sealed = crypto.privateEncrypt(privateKey, DATA);
    return [sealed.toString('hex'), crypto.publicDecrypt(publicKey, sealed).toString()];
  });
  for (const oaepHash of ['sha1', 'sha256', 'sha384', 'sha512']) {
    check(`OAEP ${oaepHash}`, () => crypto.privateDecrypt({ key: privateKey, oaepHash, oaepLabel: Buffer.from('l') }, crypto.publicEncrypt({ key: publicKey, oaepHash, oaepLabel: Buffer.from('l') }, DATA)).toString());
  }
  check('a signature of something else', () => crypto.verify('sha256', DATA, crypto.createPublicKey(p521Private), Buffer.from('no')));
};

const agreement = ({ check, bytes, hex }) => {
  check('X25519 agreement', () => crypto.diffieHellman({ privateKey: crypto.createPrivateKey(x25519Private), publicKey: crypto.createPublicKey(x25519Other) }).toString('hex'));
  for (const curve of ['prime256v1', 'secp384r1', 'secp521r1']) {
    const [one, two] = [crypto.createECDH(curve), crypto.createECDH(curve)];
    const size = { prime256v1: 32, secp384r1: 48, secp521r1: 65 }[curve];
    const [a, b] = [bytes(size), bytes(size)];
    check(`ECDH ${curve}`, () => {
      one.setPrivateKey(Buffer.from(a));
      two.setPrivateKey(Buffer.from(b));
      return [one.getPublicKey('hex'), one.getPublicKey('hex', 'compressed'), one.getPublicKey('base64', 'hybrid'), one.computeSecret(two.getPublicKey()).toString('hex'), two.computeSecret(one.getPublicKey('hex', 'compressed'), 'hex', 'hex')];
    });
    check(`ECDH ${curve} private`, () => hex(one.getPrivateKey()).replace(/^(?:00)+/, ''));
    check(`ECDH ${curve} made`, () => {
      const [x, y] = [crypto.createECDH(curve), crypto.createECDH(curve)];
      x.generateKeys();
      y.generateKeys('hex');
      return x.computeSecret(y.getPublicKey()).equals(y.computeSecret(x.getPublicKey('hex'), 'hex'));
    });
    check(`ECDH ${curve} converts`, () => crypto.ECDH.convertKey(one.getPublicKey(), curve, undefined, 'hex', 'compressed'));
    check(`ECDH ${curve} refuses`, () => one.computeSecret(Buffer.alloc(65, 4)));
  }
  check('ECDH of an unknown curve', () => crypto.createECDH('nope'));
};

// In pieces: what `update` gives and when, with every mode.
const ciphers = ({ random, pick, bytes, check }) => {
  const CIPHERS = [['aes-128-cbc', 16, 16], ['aes-192-cbc', 24, 16], ['aes-256-cbc', 32, 16], ['aes-256-ctr', 32, 16], ['aes-128-ecb', 16, 0], ['aes-128-gcm', 16, 12], ['aes-256-gcm', 32, 16], ['aes-192-gcm', 24, 7], ['chacha20-poly1305', 32, 12], ['des-ede3-cbc', 24, 8], ['des-ede3', 24, 0]];
  for (let at = 0; at < 250; at++) {
    const [name, keyLength, ivLength] = pick(CIPHERS);
    const [key, iv] = [bytes(keyLength), ivLength === 0 ? null : bytes(ivLength)];
    const pieces = Array.from({ length: random(5) }, () => Buffer.from(bytes(random(50))));
    const isSealed = /gcm|poly/.test(name);
    const [aad, tagLength, isPadded] = [bytes(random(40)), isSealed ? pick([4, 8, 12, 13, 16]) : undefined, random(3) > 0];
    check(`cipher in pieces ${at} ${name}`, () => {
      const options = isSealed ? { authTagLength: tagLength } : undefined;
      const prepare = (cipher) => (isSealed ? cipher.setAAD(aad) : cipher.setAutoPadding(isPadded));
      const cipher = prepare(crypto.createCipheriv(name, key, iv, options));
      const sealed = pieces.map((piece) => cipher.update(piece));
      sealed.push(cipher.final());
      const decipher = prepare(crypto.createDecipheriv(name, key, iv, options));
      if (isSealed) decipher.setAuthTag(cipher.getAuthTag());
      const opened = sealed.map((piece) => decipher.update(piece));
      opened.push(decipher.final());
      return [sealed.map((piece) => piece.toString('hex')), opened.map((piece) => piece.length), isSealed ? cipher.getAuthTag().toString('hex') : '', Buffer.concat(opened).equals(Buffer.concat(pieces))];
    });
  }
  check('a message that was cut', () => {
    const decipher = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16));
    return decipher.update(Buffer.alloc(20)).length + decipher.final().length;
  });
  check('the wrong key', () => {
    const decipher = crypto.createDecipheriv('aes-128-cbc', Buffer.alloc(16, 7), Buffer.alloc(16));
    return decipher.update(Buffer.alloc(32)).length + decipher.final().length;
  });
};
