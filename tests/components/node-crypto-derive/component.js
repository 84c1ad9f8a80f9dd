module.exports = {
  name: 'pbkdf2, scrypt and hkdf derive what Node derives',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('crypto');
    const { promisify } = require('util');
    return {
      pbkdf2: crypto.pbkdf2Sync('password', 'salt', 100, 24, 'sha256').toString('hex'),
      later: (await promisify(crypto.pbkdf2)('password', 'salt', 2, 8, 'sha1')).toString('hex'),
      scrypt: crypto.scryptSync('password', 'salt', 16, { N: 1024 }).toString('hex'),
      scryptLater: (await promisify(crypto.scrypt)('password', 'salt', 8, { cost: 16 })).toString('hex'),
      hkdf: Buffer.from(crypto.hkdfSync('sha256', 'key', 'salt', 'info', 16)).toString('hex'),
    };
  },
};
