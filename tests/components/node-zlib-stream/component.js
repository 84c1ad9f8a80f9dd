module.exports = {
  name: 'zlib streams and callbacks',
  version: '0.0.1',
  type: 'action',
  async run() {
    const zlib = require('zlib');
    const { promisify } = require('util');
    const { pipeline, Readable } = require('stream');
    const packed = await promisify(zlib.gzip)('streamed text');
    const chunks = [];
    await promisify(pipeline)(Readable.from([packed.subarray(0, 5), packed.subarray(5)]), zlib.createGunzip(), async function* (source) { for await (const chunk of source) chunks.push(chunk); });
    const failed = await promisify(zlib.inflate)(Buffer.from('zzz')).catch((error) => error.code);
    const error = await new Promise((resolve) => { const stream = zlib.createInflate(); stream.on('error', (problem) => resolve(problem.code)); stream.end('garbage'); });
    return { text: Buffer.concat(chunks).toString(), failed, error };
  },
};
