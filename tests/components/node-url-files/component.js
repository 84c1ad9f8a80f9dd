module.exports = {
  name: 'File URLs and domains',
  version: '0.0.1',
  type: 'action',
  async run() {
    const url = require('node:url');
    const codes = [];
    for (const bad of ['http://x/y', 'file://host/p']) { try { url.fileURLToPath(bad); } catch (error) { codes.push(error.code); } }
    return [url.fileURLToPath('file:///tmp/a%20b.txt'), url.pathToFileURL('/tmp/a b#c.txt').href, url.domainToASCII('español.com'), url.domainToUnicode('xn--espaol-zwa.com'), codes, url.urlToHttpOptions(new URL('https://u:p@h.com:444/a?b')).auth];
  },
};
