module.exports = {
  name: 'Buffer copies, compares, searches, slices and joins',
  version: '0.0.1',
  type: 'action',
  async run() {
    const one = Buffer.from('hello world');
    const two = Buffer.alloc(5, 'ab');
    const slice = one.subarray(0, 5);
    slice[0] = 0x48;
    return {
      shared: one.toString(), filled: two.toString(), concat: Buffer.concat([one, two], 13).toString(),
      compare: [Buffer.compare(Buffer.from('a'), Buffer.from('b')), one.equals(Buffer.from('Hello world'))],
      index: [one.indexOf('world'), one.lastIndexOf('o'), one.includes('xyz'), one.indexOf(Buffer.from('ld'))],
      json: JSON.stringify(Buffer.from('hi')), isBuffer: [Buffer.isBuffer(one), Buffer.isBuffer(new Uint8Array(1))],
      isUint8Array: one instanceof Uint8Array, swap: Buffer.from([1, 2, 3, 4]).swap16().toString('hex'),
      copied: one.copy(two, 1, 0, 3), two: two.toString(), sliceIsBuffer: Buffer.isBuffer(one.slice(1, 2)), mapIsBuffer: Buffer.isBuffer(one.map((x) => x)),
      entries: [...Buffer.from('ab').entries()], fromArray: [...Buffer.from([256, -1, 3.7])], fromBuffer: Buffer.from(Buffer.from('x')).toString(),
    };
  },
};
