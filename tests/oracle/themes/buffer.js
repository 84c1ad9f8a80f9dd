'use strict';
// Buffer.
const ENCODINGS = ['utf8', 'utf-8', 'hex', 'base64', 'base64url', 'latin1', 'binary', 'ascii', 'ucs2', 'utf16le'];
const TEXTS = ['', 'a', 'hello', 'ä€', '\u{1F600}', 'YQ==', 'YWI', '-_-_', 'zz', '0f0', 'deadBEEF', 'x y', '\ud800', 'ÿ\u0100', 'YQ==YQ=='];

module.exports = ({ random, pick, bytes, hex, check }) => {
  for (const text of TEXTS) for (const encoding of ENCODINGS) {
    check(`Buffer.from ${JSON.stringify(text)} ${encoding}`, () => [hex(Buffer.from(text, encoding)), Buffer.byteLength(text, encoding)]);
  }
  for (let at = 0; at < 200; at++) {
    const data = bytes(random(9));
    check(`Buffer ${hex(data)}`, () => ENCODINGS.map((encoding) => Buffer.from(data).toString(encoding)));
  }
  for (let at = 0; at < 200; at++) {
    const [a, b] = [Buffer.from(bytes(4 + random(8))), Buffer.from(bytes(random(3)))];
    const [start, end] = [random(12) - 3, random(12) - 3];
    check(`Buffer operations ${hex(a)} ${hex(b)} ${start} ${end}`, () => [
      hex(a.subarray(start, end)), a.indexOf(b), a.includes(b), a.lastIndexOf(b), Buffer.compare(a, b), a.equals(Buffer.from(a)), hex(Buffer.concat([b, a])), a.toString('utf8', start < 0 ? 0 : start, end < 0 ? 0 : end),
    ]);
  }
  const METHODS = ['UInt8', 'Int8', 'UInt16LE', 'UInt16BE', 'Int16LE', 'Int32BE', 'UInt32LE', 'FloatLE', 'DoubleBE', 'BigInt64LE', 'BigUInt64BE'];
  for (const method of METHODS) {
    for (let at = 0; at < 8; at++) {
      const data = Buffer.from(bytes(10));
      check(`Buffer read${method} ${hex(data)}`, () => data[`read${method}`](random(3)));
    }
    check(`Buffer out of range read${method}`, () => Buffer.alloc(1)[`read${method}`](1));
    const value = method.startsWith('Big') ? 5n : 5;
    check(`Buffer write${method}`, () => {
      const into = Buffer.alloc(10);
      return [into[`write${method}`](value, 1), hex(into)];
    });
  }
  check('Buffer.alloc', () => [hex(Buffer.alloc(3, 'ab')), hex(Buffer.alloc(2, 7)), JSON.stringify(Buffer.from('hi')), Buffer.isBuffer(Buffer.from('')), Buffer.from('abc').fill('x').toString()]);
  check('Buffer.from number', () => Buffer.from(5));
  check('Buffer.from object', () => hex(Buffer.from({ type: 'Buffer', data: [1, 2] })));
};
