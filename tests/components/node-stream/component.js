module.exports = {
  name: 'Streams pipe, transform, end and fail',
  version: '0.0.1',
  type: 'action',
  async run() {
    const { Readable, Writable, Transform, PassThrough, pipeline, finished } = require('stream');
    const upper = new Transform({ transform(chunk, encoding, callback) { callback(null, chunk.toString().toUpperCase()); } });
    const collected = [];
    const sink = new Writable({ write(chunk, encoding, callback) { collected.push(chunk.toString()); callback(); } });
    await new Promise((resolve, reject) => pipeline(Readable.from(['a', 'b', 'c']), upper, sink, (error) => (error ? reject(error) : resolve())));
    const read = [];
    for await (const chunk of Readable.from([1, 2, 3])) read.push(chunk);
    const broken = new Readable({ read() { this.destroy(new Error('broken')); } });
    const failure = await new Promise((resolve) => { finished(broken, (error) => resolve(error.message)); broken.resume(); });
    const through = new PassThrough();
    through.end('x');
    const texts = await require('stream/consumers').text(through);
    await require('stream/promises').pipeline(Readable.from(['y']), new PassThrough(), async (source) => { for await (const chunk of source) texts; });
    return { collected, read, failure, texts, doubled: await Readable.from([1, 2]).map((n) => n * 2).toArray(), isStream: through instanceof require('stream'), legacy: typeof require('stream').Stream };
  },
};
