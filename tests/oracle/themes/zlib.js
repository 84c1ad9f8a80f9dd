'use strict';
// zlib: what comes out of what went in, whole and in pieces, cut short and spoilt. How well each side
// compresses is its own affair, so compressed bytes are never compared.
const zlib = require('zlib');
const { Readable } = require('stream');

const TEXT = 'one two three four five six seven eight nine ten '.repeat(8);
const METHODS = { gzip: ['gunzipSync', 'unzipSync'], zlib: ['inflateSync', 'unzipSync'], raw: ['inflateRawSync'], brotli: ['brotliDecompressSync'] };

module.exports = async ({ random, pick, bytes, check, checkLater }) => {
  const made = { gzip: zlib.gzipSync(TEXT), zlib: zlib.deflateSync(TEXT), raw: zlib.deflateRawSync(TEXT), brotli: zlib.brotliCompressSync(TEXT) };
  for (const [format, methods] of Object.entries(METHODS)) {
    for (const method of methods) {
      check(`${method} of ${format}`, () => zlib[method](made[format]).toString());
      check(`${method} of ${format} cut short`, () => zlib[method](made[format].subarray(0, made[format].length - 6)).toString());
      check(`${method} of nothing`, () => zlib[method](Buffer.alloc(0)).toString());
      check(`${method} with a limit`, () => zlib[method](made[format], { maxOutputLength: 100 }).length);
    }
  }
  for (const method of ['gunzipSync', 'inflateSync', 'unzipSync']) check(`${method} of what is none`, () => zlib[method](Buffer.from('not compressed at all')).length);
  for (const method of ['gunzipSync', 'unzipSync']) check(`${method} of two members`, () => zlib[method](Buffer.concat([made.gzip, zlib.gzipSync('!')])).toString().slice(-5));
  for (let at = 0; at < 60; at++) {
    const format = pick(Object.keys(METHODS));
    const data = Buffer.from(bytes(random(3000)));
    const size = 1 + random(700);
    await checkLater(`${format} in pieces ${at}`, async () => {
      const compress = { gzip: zlib.createGzip, zlib: zlib.createDeflate, raw: zlib.createDeflateRaw, brotli: zlib.createBrotliCompress }[format]();
      const expand = { gzip: zlib.createGunzip, zlib: zlib.createInflate, raw: zlib.createInflateRaw, brotli: zlib.createBrotliDecompress }[format]();
      const pieces = Array.from({ length: Math.ceil(data.length / size) }, (unused, index) => data.subarray(index * size, (index + 1) * size));
      const compressed = [];
      for await (const piece of Readable.from(pieces).pipe(compress)) compressed.push(piece);
      const again = Buffer.concat(compressed);
      const opened = [];
      for await (const piece of Readable.from([again.subarray(0, 7), again.subarray(7)]).pipe(expand)) opened.push(piece);
      return Buffer.concat(opened).equals(data);
    });
  }
  for (const format of ['gzip', 'deflate', 'deflate-raw']) {
    await checkLater(`${format} streams of the web`, async () => {
      const compressed = new Response(TEXT).body.pipeThrough(new CompressionStream(format));
      return new Response(compressed.pipeThrough(new DecompressionStream(format))).text();
    });
    await checkLater(`spoilt streams of the web, ${format}`, async () => new Response(new Response('no such thing').body.pipeThrough(new DecompressionStream(format))).text());
  }
};
