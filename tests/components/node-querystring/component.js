module.exports = {
  name: 'querystring parses and writes what Node does',
  version: '0.0.1',
  type: 'action',
  async run() {
    const querystring = require('querystring');
    return [
      querystring.parse('a=1&b=2&a=3&empty=&novalue&sp=a+b%20c&%E4%B8%96=x'),
      querystring.stringify({ a: ['b', 'c'], n: 5, t: true, nothing: null, o: {}, 'sp ace': "it's ok" }),
      querystring.stringify({ a: 1, b: 2 }, ';', ':'), querystring.parse('a:1;b:2', ';', ':'), querystring.escape('a b&c'), querystring.unescape('%zz%41'),
    ];
  },
};
