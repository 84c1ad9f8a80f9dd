module.exports = {
  name: 'Buffer knows its encodings',
  version: '0.0.1',
  type: 'action',
  async run() {
    return {
      latin1: Buffer.from('é', 'latin1').toString('hex'),
      binary: Buffer.from([0xe9, 0x41]).toString('binary'),
      ucs2: Buffer.from('ab', 'ucs2').toString('hex'),
      utf16: Buffer.from('61006200', 'hex').toString('utf16le'),
      ascii: Buffer.from([0xe9, 0x41]).toString('ascii'),
      invalid: Buffer.from([0x61, 0xff, 0x62]).toString(),
      isEncoding: ['utf8', 'UTF-8', 'base64url', 'nope'].map((name) => Buffer.isEncoding(name)),
      lengths: [Buffer.byteLength('世界'), Buffer.byteLength('aGk=', 'base64'), Buffer.byteLength('abcd', 'hex')],
      bom: Buffer.from('\ufeffx').toString().length,
    };
  },
};
