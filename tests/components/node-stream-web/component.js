const { Readable, Writable, Transform, PassThrough, pipeline, finished, addAbortSignal } = require('stream');
const promises = require('stream/promises');
const consumers = require('stream/consumers');

module.exports = {
  name: 'Streams of Node: promises, consumers, and the way to the streams of the web and back',
  version: '0.0.1',
  type: 'action',
  async run() {
    const out = {};
    const upper = () => new Transform({ transform(chunk, encoding, callback) { callback(null, String(chunk).toUpperCase()); } });
    const pieces = [];
    await promises.pipeline(Readable.from(['a', 'b']), upper(), new Writable({ write(chunk, encoding, callback) { pieces.push(String(chunk)); callback(); } }));
    out.pipeline = pieces;
    out.generator = await promises.pipeline(Readable.from(['x', 'y']), async function* (source) { for await (const piece of source) yield `${piece}!`; }, async (source) => { let all = ''; for await (const piece of source) all += piece; return all; });
    out.toWeb = await new Response(Readable.toWeb(Readable.from([Buffer.from('to '), Buffer.from('web')]))).text();
    out.fromWeb = await consumers.text(Readable.fromWeb(new Blob(['from web']).stream()));
    out.json = await consumers.json(Readable.from(['{"a":', '1}']));
    out.failed = await promises.pipeline(Readable.from(['a']), new Transform({ transform(chunk, encoding, callback) { callback(new Error('broken')); } }), new PassThrough()).catch((error) => error.message);
    out.aborted = await promises.pipeline(new Readable({ read() {} }), new PassThrough(), { signal: AbortSignal.abort() }).catch((error) => [error.name, error.code]);
    const stream = new PassThrough();
    const done = promises.finished(stream.resume());
    stream.end('x');
    out.finished = (await done) ?? 'finished';
    out.callback = await new Promise((resolve) => { pipeline(Readable.from(['a']), new PassThrough().resume(), (error) => resolve(error ?? 'piped')); });
    out.helpers = await Readable.from([1, 2, 3, 4]).filter((n) => n % 2 === 0).map((n) => n * 10).toArray();
    const written = [];
    const web = Writable.toWeb(new Writable({ write(chunk, encoding, callback) { written.push(String(chunk)); callback(); } }));
    const writer = web.getWriter();
    await writer.write('w');
    await writer.close();
    out.writable = written;
    return out;
  },
};
