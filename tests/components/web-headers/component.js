// Headers are case-insensitive, sorted, joined and checked.
module.exports = {
  name: 'web-headers',
  version: '1.0.0',
  type: 'action',
  async run() {
    const headers = new Headers({ 'Content-Type': 'a/b', accept: 'x' });
    headers.append('Accept', 'y');
    headers.append('set-cookie', 'a=1');
    headers.append('Set-Cookie', 'b=2');
    let bad;
    try {
      headers.set('bad name', 'x');
    } catch (error) {
      bad = error.name;
    }
    return [[...headers], headers.getSetCookie(), headers.get('ACCEPT'), headers.has('nope'), bad];
  },
};
