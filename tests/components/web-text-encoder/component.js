// Text is encoded, also into a buffer that is too small.
module.exports = {
  name: 'web-text-encoder',
  version: '1.0.0',
  type: 'action',
  async run() {
    const into = new Uint8Array(4);
    return [[...new TextEncoder().encode('h€')], new TextEncoder().encodeInto('a€€', into), [...into], [...new TextEncoder().encode('\ud800')]];
  },
};
