module.exports = {
  name: 'Streams of the web: pipeTo, pipeThrough, tee, from, iteration and cancellation',
  version: '0.0.1',
  type: 'action',
  async run() {
    const numbers = () => new ReadableStream({
      start(controller) { for (const n of [1, 2, 3]) controller.enqueue(n); controller.close(); },
    });
    const out = {};
    const sunk = [];
    await numbers().pipeTo(new WritableStream({ write(chunk) { sunk.push(chunk); }, close() { sunk.push('closed'); } }));
    out.sunk = sunk;
    const [a, b] = numbers().tee();
    out.tee = [await Array.fromAsync(a), await Array.fromAsync(b)];
    const doubled = numbers().pipeThrough(new TransformStream({ transform(chunk, controller) { controller.enqueue(chunk * 2); }, flush(controller) { controller.enqueue('end'); } }));
    out.doubled = await Array.fromAsync(doubled);
    out.from = await Array.fromAsync(ReadableStream.from(['x', Promise.resolve('y')]));
    let reason;
    const endless = new ReadableStream({ pull(controller) { controller.enqueue(0); }, cancel(why) { reason = why; } });
    for await (const chunk of endless) if (chunk === 0) break;
    await new ReadableStream({ pull(controller) { controller.enqueue(0); }, cancel(why) { reason = why; } }).cancel('enough');
    out.reason = reason;
    const aborted = new AbortController();
    const piped = new ReadableStream({}).pipeTo(new WritableStream({}), { signal: aborted.signal }).catch((error) => error.name);
    aborted.abort();
    out.aborted = await piped;
    out.failed = await new ReadableStream({ pull() { throw new RangeError('no'); } }).pipeTo(new WritableStream()).catch((error) => error.message);
    out.text = await new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('streamed')); c.close(); } })).text();
    return out;
  },
};
