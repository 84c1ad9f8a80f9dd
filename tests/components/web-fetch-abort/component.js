// A request is aborted before it starts, and a response while it is read.
module.exports = {
  name: 'web-fetch-abort',
  version: '1.0.0',
  type: 'action',
  async run() {
    const before = await fetch('https://api.example.com/a', { signal: AbortSignal.abort() }).catch((error) => error.name);
    const controller = new AbortController();
    const response = await fetch('https://api.example.com/b', { signal: controller.signal });
    controller.abort(new Error('enough'));
    const during = await response.text().catch((error) => error.message);
    return [before, response.status, during];
  },
};
