module.exports = {
  name: 'createSign with an RSA key gives the bytes Node gives, as for a JWT',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('crypto');
    const { pem } = require('./key.json');
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const head = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode({ sub: '123', iat: 1700000000 })}`;
    const signature = crypto.createSign('RSA-SHA256').update(head).sign(pem, 'base64url');
    const publicKey = crypto.createPublicKey(pem);
    const pss = crypto.createSign('sha256').update('x').sign({ key: pem, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: crypto.constants.RSA_PSS_SALTLEN_DIGEST });
    return {
      token: `${head}.${signature}`,
      verified: crypto.createVerify('RSA-SHA256').update(head).verify(publicKey, signature, 'base64url'),
      tampered: crypto.createVerify('RSA-SHA256').update(head + 'x').verify(publicKey, signature, 'base64url'),
      pss: crypto.createVerify('sha256').update('x').verify({ key: publicKey, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: crypto.constants.RSA_PSS_SALTLEN_DIGEST }, pss),
      bits: publicKey.asymmetricKeyDetails.modulusLength,
      spki: publicKey.export({ type: 'spki', format: 'pem' }).length,
      opened: crypto.privateDecrypt(pem, crypto.publicEncrypt(publicKey, Buffer.from('small'))).toString(),
    };
  },
};
