// Requests keep what they were given and can be made of one another.
module.exports = {
  name: 'web-request-object',
  version: '1.0.0',
  type: 'action',
  async run() {
    const first = new Request('https://example.com/a#f', { method: 'post', headers: { a: '1' }, body: 'text' });
    const second = new Request(first, { headers: { b: '2' } });
    return [first.method, first.url, first.bodyUsed, second.method, [...second.headers], await second.text(), second.redirect];
  },
};
