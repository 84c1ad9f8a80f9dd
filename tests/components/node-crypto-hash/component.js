module.exports = {
  name: 'createHash knows the usual algorithms, copies, and streams',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('crypto');
    const out = {};
    for (const name of ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'RSA-SHA256', 'SHA1', 'ripemd160']) out[name] = crypto.createHash(name).update('abc').digest('hex');
    const hash = crypto.createHash('sha256').update('a');
    out.copied = [hash.copy().digest('base64'), hash.update('b').digest('base64url')];
    const stream = crypto.createHash('md5');
    stream.end('streamed');
    out.streamed = await new Promise((resolve) => stream.on('data', (digest) => resolve(digest.toString('hex'))));
    try { hash.update('more'); } catch (error) { out.again = error.code; }
    try { crypto.createHash('nope'); } catch (error) { out.unknown = error.message; }
    out.listed = crypto.getHashes().includes('sha256');
    return out;
  },
};
