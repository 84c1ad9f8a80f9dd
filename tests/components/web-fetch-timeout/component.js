module.exports = {
  name: 'A request that takes too long is given up: AbortSignal.timeout and any',
  version: '0.0.1',
  type: 'action',
  async run() {
    const slow = new ReadableStream({ async pull() { await new Promise(() => {}); } });
    const timeout = await fetch('https://api.example.com/slow', { method: 'POST', body: slow, duplex: 'half', signal: AbortSignal.timeout(50) }).catch((error) => [error.name, error.code]);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('mine')), 10);
    const any = await fetch('https://api.example.com/slow', { method: 'POST', body: new ReadableStream({ pull: () => new Promise(() => {}) }), duplex: 'half', signal: AbortSignal.any([AbortSignal.timeout(5000), controller.signal]) }).catch((error) => error.message);
    return { timeout, any };
  },
};
