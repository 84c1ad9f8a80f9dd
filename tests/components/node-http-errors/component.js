module.exports = {
  name: 'http refuses bad requests with Node\'s codes',
  version: '0.0.1',
  type: 'action',
  async run() {
    const http = require('http');
    const code = (work) => { try { work(); return 'none'; } catch (error) { return error.code; } };
    const failure = (request) => new Promise((resolve) => request.on('error', resolve));
    const destroyed = http.request('http://example.com/');
    const gone = failure(destroyed);
    destroyed.destroy();
    const controller = new AbortController();
    const aborted = failure(http.get('http://example.com/', { signal: controller.signal }));
    controller.abort();
    const abort = await aborted;
    return [
      code(() => http.request('https://example.com')), code(() => http.request({ host: 'a', path: '/a b' })), code(() => http.request({ host: 'a', headers: { x: 'a\nb' } })), code(() => http.request({ host: 'a', headers: { x: undefined } })), code(() => http.request({ host: 'a', headers: { 'a b': '1' } })),
      (await gone).code, abort.name, abort.code,
    ];
  },
};
