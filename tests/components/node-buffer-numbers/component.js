module.exports = {
  name: 'Buffer reads and writes numbers of every size',
  version: '0.0.1',
  type: 'action',
  async run() {
    const buffer = Buffer.alloc(40);
    buffer.writeUInt8(255, 0); buffer.writeInt16BE(-2, 1); buffer.writeUInt32LE(0xdeadbeef, 3); buffer.writeDoubleBE(Math.PI, 7);
    buffer.writeFloatLE(1.5, 15); buffer.writeBigInt64BE(-5n, 19); buffer.writeUIntBE(0x123456, 27, 3); buffer.writeIntLE(-1234567, 30, 6);
    const codes = [];
    for (const fail of [() => buffer.readUInt8(40), () => Buffer.alloc(-1), () => Buffer.from(5), () => buffer.toString('nope'), () => Buffer.alloc('5')]) {
      try { fail(); codes.push('none'); } catch (error) { codes.push(error.name); }
    }
    return {
      hex: buffer.toString('hex'), read: [buffer.readUInt8(0), buffer.readInt16BE(1), buffer.readUInt32LE(3), buffer.readDoubleBE(7), buffer.readFloatLE(15), String(buffer.readBigInt64BE(19)), buffer.readUIntBE(27, 3), buffer.readIntLE(30, 6)], codes,
    };
  },
};
