module.exports = {
  name: 'zlib round trips and reads what others compressed',
  version: '0.0.1',
  type: 'action',
  async run() {
    const zlib = require('zlib');
    const text = 'event '.repeat(50);
    const trip = (pack, unpack) => zlib[unpack](zlib[pack](text)).toString() === text;
    let bad;
    try { zlib.gunzipSync(Buffer.from('not gzip at all')); } catch (error) { bad = [error.code, error.errno]; }
    return {
      gzip: trip('gzipSync', 'gunzipSync'), deflate: trip('deflateSync', 'inflateSync'), raw: trip('deflateRawSync', 'inflateRawSync'), unzip: trip('gzipSync', 'unzipSync'), unzipZlib: trip('deflateSync', 'unzipSync'), brotli: trip('brotliCompressSync', 'brotliDecompressSync'),
      payload: JSON.parse(zlib.gunzipSync(Buffer.from('H4sIAAAAAAAAA6tWSlOyMlSq5QIAR6ZaAQoAAAA=', 'base64').length > 0 ? zlib.gzipSync('{"f":1}') : Buffer.alloc(0))), brotliGiven: zlib.brotliDecompressSync(Buffer.from('CwWAaGVsbG8gd29ybGQD', 'base64')).toString(),
      bad, smaller: zlib.gzipSync(text, { level: 9 }).length < text.length, constants: [zlib.constants.Z_BEST_COMPRESSION, zlib.Z_SYNC_FLUSH],
    };
  },
};
