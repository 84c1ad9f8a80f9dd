module.exports = {
  name: 'createCipheriv encrypts and authenticates',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('crypto');
    const key = Buffer.alloc(32, 1);
    const iv = Buffer.alloc(16, 2);
    const run = (name, useKey, useIv) => {
      const cipher = crypto.createCipheriv(name, useKey, useIv);
      const sealed = cipher.update('attack at dawn', 'utf8', 'hex') + cipher.final('hex');
      const decipher = crypto.createDecipheriv(name, useKey, useIv);
      return [sealed, decipher.update(sealed, 'hex', 'utf8') + decipher.final('utf8')];
    };
    const gcm = crypto.createCipheriv('aes-256-gcm', key, iv.subarray(0, 12));
    gcm.setAAD(Buffer.from('header'));
    const sealed = Buffer.concat([gcm.update('secret'), gcm.final()]);
    const open = crypto.createDecipheriv('aes-256-gcm', key, iv.subarray(0, 12));
    open.setAAD(Buffer.from('header'));
    open.setAuthTag(gcm.getAuthTag());
    const out = {
      cbc: run('aes-256-cbc', key, iv), ctr: run('aes-256-ctr', key, iv), cbc128: run('AES-128-CBC', key.subarray(0, 16), iv), ecb: run('aes-256-ecb', key, null),
      gcm: [sealed.toString('hex'), gcm.getAuthTag().toString('hex'), open.update(sealed, null, 'utf8') + open.final('utf8')],
    };
    try { crypto.createCipheriv('aes-256-cbc', 'short', iv); } catch (error) { out.key = error.code; }
    const forged = crypto.createDecipheriv('aes-256-gcm', key, iv.subarray(0, 12));
    forged.setAuthTag(Buffer.alloc(16));
    forged.update(sealed);
    try { forged.final(); } catch (error) { out.forged = error.message; }
    return out;
  },
};
