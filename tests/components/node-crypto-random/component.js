module.exports = {
  name: 'Randomness has the right shapes',
  version: '0.0.1',
  type: 'action',
  async run() {
    const crypto = require('crypto');
    const numbers = Array.from({ length: 200 }, () => crypto.randomInt(3, 6));
    const filled = crypto.randomFillSync(Buffer.alloc(8));
    return {
      bytes: crypto.randomBytes(16).length, uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
      differ: crypto.randomUUID() !== crypto.randomUUID(), range: [Math.min(...numbers), Math.max(...numbers)], filled: filled.length,
      later: await new Promise((resolve) => crypto.randomBytes(4, (error, bytes) => resolve([error, bytes.length]))),
      equal: crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')),
    };
  },
};
