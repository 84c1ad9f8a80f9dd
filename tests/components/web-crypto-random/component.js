// Randomness fills arrays and makes identifiers.
module.exports = {
  name: 'web-crypto-random',
  version: '1.0.0',
  type: 'action',
  async run() {
    const filled = crypto.getRandomValues(new Uint32Array(4));
    let refused;
    try {
      crypto.getRandomValues(new Uint8Array(65537));
    } catch (error) {
      refused = error.name;
    }
    return [filled.length, new Set(Array.from({ length: 100 }, () => crypto.randomUUID())).size, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), refused];
  },
};
