// URLs are taken apart, resolved and written back.
module.exports = {
  name: 'web-url-parts',
  version: '1.0.0',
  type: 'action',
  async run() {
    const url = new URL('../c?x=1#frag', 'https://user:pw@example.com:8443/a/b/');
    url.searchParams.append('y', 'ä b');
    url.port = '443';
    url.hash = '';
    return { href: url.href, origin: url.origin, parts: [url.username, url.host, url.pathname, url.search], json: JSON.stringify({ url }) };
  },
};
