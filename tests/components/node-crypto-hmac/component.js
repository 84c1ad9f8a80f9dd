module.exports = {
  name: 'createHmac signs with text, bytes and key objects',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('node:crypto');
    const key = crypto.createSecretKey(Buffer.from('key'));
    return [
      crypto.createHmac('sha1', 'key').update('a').update(Buffer.from('b')).digest('base64'),
      crypto.createHmac('SHA256', Buffer.from('key')).update('data').digest('hex'),
      crypto.createHmac('sha512', key).update('data').digest().length,
      crypto.createHmac('sha256', 'key').update('7b7d', 'hex').digest('hex'),
      key.type, key.symmetricKeySize,
    ];
  },
};
