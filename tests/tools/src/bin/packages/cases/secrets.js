// Cryptography and tokens.

//= jsonwebtoken
const jwt = require('jsonwebtoken');
const { createPublicKey } = require('crypto');
const { pem } = require('./key.json');
const check = async () => {
  const token = jwt.sign({ sub: 'u1' }, 'secret', { expiresIn: '1h' });
  const signed = jwt.sign({ sub: 'u2' }, pem, { algorithm: 'RS256' });
  return jwt.verify(token, 'secret').sub === 'u1' && jwt.verify(signed, createPublicKey(pem)).sub === 'u2';
};

//= jose
const { SignJWT, jwtVerify } = require('jose');
const check = async () => {
  const key = new TextEncoder().encode('0123456789abcdef0123456789abcdef');
  const token = await new SignJWT({ a: 1 }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(key);
  return (await jwtVerify(token, key)).payload.a === 1;
};

//= crypto-js
const CryptoJS = require('crypto-js');
const check = async () => CryptoJS.SHA256('a').toString() === 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb' && CryptoJS.AES.decrypt(CryptoJS.AES.encrypt('text', 'key').toString(), 'key').toString(CryptoJS.enc.Utf8) === 'text';

//= bcryptjs
const bcrypt = require('bcryptjs');
const check = async () => bcrypt.compare('secret', await bcrypt.hash('secret', 4));

//= tweetnacl
const nacl = require('tweetnacl');
const check = async () => { const pair = nacl.sign.keyPair(); const message = new Uint8Array([1, 2]); return nacl.sign.detached.verify(message, nacl.sign.detached(message, pair.secretKey), pair.publicKey); };

//= node-forge
const forge = require('node-forge');
const { pem } = require('./key.json');
const check = async () => forge.md.sha1.create().update('a').digest().toHex() === '86f7e437faa5a7fce15d1ddcb9eaeaea377667b8' && forge.pki.privateKeyFromPem(pem).n.bitLength() === 2048;

//= svix
const { Webhook } = require('svix');
const check = async () => { const webhook = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'); const now = new Date(); webhook.verify('{"a":1}', { 'svix-id': 'm1', 'svix-timestamp': String(Math.floor(now / 1000)), 'svix-signature': webhook.sign('m1', now, '{"a":1}') }); return true; };
