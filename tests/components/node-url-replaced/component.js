// Packages replace globals (polyfills do); what the platform itself uses stays what it was.
globalThis.URL = undefined;
globalThis.AbortController = undefined;
globalThis.EventTarget = undefined;

module.exports = {
  name: 'Built-ins without the global URL',
  version: '0.0.1',
  type: 'action',
  async run() {
    const url = require('node:url');
    const util = require('node:util');
    const { port, path } = url.urlToHttpOptions(new url.URL('https://h.com:444/a?b'));
    return [url.pathToFileURL('/tmp/a b').href, url.resolve('http://h.com/a/b', '../c'), port, path, typeof WebSocket, util.transferableAbortController().signal.aborted];
  },
};
