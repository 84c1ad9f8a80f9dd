module.exports = {
  name: 'EventEmitter, with once, errors and statics',
  version: '0.0.1',
  type: 'action',
  async run() {
    const EventEmitter = require('events');
    class Source extends EventEmitter {}
    const source = new Source();
    const seen = [];
    source.on('x', (...values) => seen.push(['on', ...values]));
    source.once('x', (value) => seen.push(['once', value]));
    source.prependListener('x', (value) => seen.push(['first', value]));
    source.emit('x', 1, 2);
    source.emit('x', 3);
    let thrown;
    try { source.emit('error', new Error('unheard')); } catch (error) { thrown = error.message; }
    setTimeout(() => source.emit('later', 'a', 'b'), 1);
    const [a, b] = await EventEmitter.once(source, 'later');
    const iterated = [];
    setTimeout(() => { source.emit('tick', 1); source.emit('tick', 2); }, 1);
    for await (const [value] of EventEmitter.on(source, 'tick')) { iterated.push(value); if (value === 2) break; }
    const capturing = new EventEmitter({ captureRejections: true });
    capturing.on('go', async () => { throw new Error('rejected'); });
    const captured = new Promise((resolve) => capturing.on('error', resolve));
    capturing.emit('go');
    return { seen, thrown, later: a + b, iterated, captured: (await captured).message, counts: [source.listenerCount('x'), EventEmitter.defaultMaxListeners, source.eventNames()], same: EventEmitter === EventEmitter.EventEmitter && require('node:events').EventEmitter === EventEmitter };
  },
};
