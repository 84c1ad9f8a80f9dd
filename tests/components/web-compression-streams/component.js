// Bodies are compressed and decompressed, and damage is noticed.
module.exports = {
  name: 'web-compression-streams',
  version: '1.0.0',
  type: 'action',
  async run() {
    const sizes = {};
    for (const format of ['gzip', 'deflate', 'deflate-raw']) {
      const packed = await new Response(new Blob(['x'.repeat(5000)]).stream().pipeThrough(new CompressionStream(format))).arrayBuffer();
      const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream(format))).text();
      sizes[format] = [packed.byteLength < 100, text.length];
    }
    const damaged = await new Response(new Blob(['no gzip']).stream().pipeThrough(new DecompressionStream('gzip'))).text().catch((error) => error.name);
    return [sizes, damaged];
  },
};
