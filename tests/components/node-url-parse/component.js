module.exports = {
  name: 'The old url.parse, format and resolve',
  version: '0.0.1',
  type: 'action',
  async run() {
    const url = require('url');
    const plain = (parsed) => JSON.parse(JSON.stringify(parsed));
    return {
      full: plain(url.parse('https://user:pa%20ss@Example.com:8080/a/b?x=1&y=2#frag')), query: plain(url.parse('http://example.com/p?x=1&x=2', true)),
      relative: plain(url.parse('/only/path?q#h')), mail: plain(url.parse('mailto:a@b.c')), slashes: plain(url.parse('//host/path', false, true)), bare: plain(url.parse('http://example.com')),
      formatted: [url.format({ protocol: 'https', hostname: 'example.com', pathname: '/x', query: { a: 1, b: ['c', 'd'] } }), url.format({ protocol: 'http:', host: 'h:81', pathname: 'p', search: 's=1', hash: 'z' }), url.format(new URL('http://u:p@a.b/c#d'), { auth: false, fragment: false })],
      resolved: [url.resolve('http://a.com/b/c/d', '../e'), url.resolve('/one/two/three', 'four'), url.resolve('http://a.com/', 'https://b.com/x'), url.resolve('http://a.com/b', '?q=1')],
    };
  },
};
