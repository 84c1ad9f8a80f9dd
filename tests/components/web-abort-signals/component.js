// Signals abort once, with their reason, alone and together.
module.exports = {
  name: 'web-abort-signals',
  version: '1.0.0',
  type: 'action',
  async run() {
    const controller = new AbortController();
    const any = AbortSignal.any([controller.signal, new AbortController().signal]);
    const seen = [];
    any.onabort = () => seen.push('any');
    controller.signal.addEventListener('abort', () => seen.push('own'));
    controller.abort('why');
    controller.abort('again');
    let thrown;
    try {
      any.throwIfAborted();
    } catch (error) {
      thrown = error;
    }
    const timeout = AbortSignal.timeout(1);
    await new Promise((resolve) => { timeout.onabort = resolve; });
    return [seen, any.reason, thrown, AbortSignal.abort().reason.name, timeout.reason.name, timeout.reason.message];
  },
};
