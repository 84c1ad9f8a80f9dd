module.exports = {
  name: 'string_decoder waits for whole characters',
  version: '0.0.1',
  type: 'action',
  async run() {
    const { StringDecoder } = require('string_decoder');
    const decoder = new StringDecoder('utf8');
    const euro = Buffer.from('€');
    return [decoder.write(euro.subarray(0, 1)), decoder.write(euro.subarray(1, 2)), decoder.write(euro.subarray(2)), decoder.end(), new StringDecoder('base64').write(Buffer.from('abcd')), new StringDecoder('hex').end(Buffer.from('z'))];
  },
};
