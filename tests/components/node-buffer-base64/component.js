module.exports = {
  name: 'Buffer turns text to base64, base64url and hex and back',
  version: '0.0.1',
  type: 'action',
  async run() {
    const text = 'Grüße, 世界! 🚀';
    return {
      base64: Buffer.from(text).toString('base64'),
      base64url: Buffer.from(text).toString('base64url'),
      hex: Buffer.from(text).toString('hex'),
      back: Buffer.from(Buffer.from(text).toString('base64'), 'base64').toString('utf8'),
      lenient: Buffer.from('aGVsbG8gd29y\nbGQ', 'base64').toString(),
      url: Buffer.from('-_-_', 'base64').toString('hex'),
      basic: `Basic ${Buffer.from('user:pass').toString('base64')}`,
      badHex: Buffer.from('abxxcd', 'hex').length,
    };
  },
};
