module.exports = {
  name: 'Buffer.write never leaves half a character',
  version: '0.0.1',
  type: 'action',
  async run() {
    const buffer = Buffer.alloc(8);
    return { written: [buffer.write('a世界', 1), buffer.write('zz', 6, 'latin1'), buffer.write('ffff', 0, 1, 'hex')], hex: buffer.toString('hex'), inspected: require('util').inspect(Buffer.from('abc')) };
  },
};
