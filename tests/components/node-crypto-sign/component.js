module.exports = {
  name: 'Signatures of RSA, EC and Ed25519 keys verify, and JWKs are read',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('crypto');
    const out = {};
    for (const [kind, options, algorithm] of [['ec', { namedCurve: 'prime256v1' }, 'SHA256'], ['ed25519', {}, null]]) {
      const { publicKey, privateKey } = crypto.generateKeyPairSync(kind, options);
      const signature = crypto.sign(algorithm, Buffer.from('data'), privateKey);
      out[kind] = [crypto.verify(algorithm, Buffer.from('data'), publicKey, signature), crypto.verify(algorithm, Buffer.from('other'), publicKey, signature), privateKey.asymmetricKeyType];
      const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
      out[kind].push(pem.split('\n')[0], crypto.createPublicKey(pem).equals(publicKey), publicKey.export({ format: 'jwk' }).kty);
      out[kind].push(crypto.createPublicKey({ key: publicKey.export({ format: 'jwk' }), format: 'jwk' }).equals(publicKey));
    }
    const { publicKey, privateKey } = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256', publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' } });
    const jose = crypto.sign('sha256', Buffer.from('x'), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    out.jose = [jose.length, crypto.verify('sha256', Buffer.from('x'), { key: publicKey, dsaEncoding: 'ieee-p1363' }, jose)];
    return out;
  },
};
