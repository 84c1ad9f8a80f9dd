'use strict';
// URL and URLSearchParams.
const SCHEMES = ['http:', 'https:', 'HTTP:', 'ftp:', 'ws:', 'file:', 'mailto:', 'data:', 'javascript:', 'foo:', 'blob:https:', '', 'http', '1x:'];
const HOSTS = ['example.com', 'EXAMPLE.com', 'münchen.de', 'xn--mnchen-3ya.de', '127.0.0.1', '0x7f.1', '2130706433', '256.1.1.1', '[::1]', '[2001:db8::1:0]', '[::1', 'a b.com', 'exa%6dple.com', 'localhost', '', '..', 'a_b.com', '1.2.3', 'faß.de', 'ex\u00ADample.com', 'a%00b', '日本語.jp', '-a-.com'];
const PORTS = ['', ':80', ':443', ':8080', ':', ':65536', ':0', ':a', ':00080'];
const CREDENTIALS = ['', 'user@', 'user:pass@', 'us%20er:p@ss@', ':pass@', '@', 'a:b:c@'];
const PATHS = ['', '/', '/a/b', '/a/../b', '/./a', '/a//b', '/%2e%2e/a', '/a b', '/ä', '/%zz', '\\a\\b', '/a/.', '/a/..', '/a;b=c', '/"<>`{}|', "/a'b", '/\u0000', '//x', '/C|/a', '?', '/[x]^'];
const QUERIES = ['', '?', '?a=1', '?a=1&b=2', '?a b', '?ä=ö', "?'", '?a=%zz', '?#', '?a=1?b', '?"<>#', '?a+b=c+d', '?\ud800'];
const HASHES = ['', '#', '#x', '#ä', '# <>`"', '#a#b', '#%zz'];
const BASES = [undefined, 'http://base.example/dir/file?q#f', 'file:///C:/x/y', 'mailto:x@y', 'about:blank', 'https://u:p@h:1/a/b/', 'relative'];
const RELATIVE = ['x', '../x', './x', '/x', '//h/x', '?q', '#f', '', ' x ', 'a:b', '..', '.', '///x', 'C:/z', '\tx\n', 'http:x', '%2e%2e/x'];
const SETTERS = {
  href: ['http://new/', 'nope', 'https://a b/'], protocol: ['https', 'ftp:', 'foo', 'http:x', '1', 'file'], username: ['me', 'a b', 'ä', '', 'a:b'], password: ['pw', 'a@b', ''],
  host: ['new.com', 'new.com:81', 'a b', '[::1]:2', 'x/y', ''], hostname: ['n.com', 'n.com:8', '', '127.1'], port: ['81', '', '80', 'x', '9x', '99999', '-1'],
  pathname: ['/p', 'p/q', '/a/../b', '/ä b', '', '?x', '#x'], search: ['?s=1', 's', '', '?', 'ä', '#'], hash: ['#h', 'h', '', '#ä b'],
};

const parts = (url) => ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'].map((name) => url[name]);

module.exports = ({ random, pick, some, check }) => {
  for (let at = 0; at < 1200; at++) {
    const text = `${pick(SCHEMES)}${pick(['//', '//', '//', '/', '', '\\\\'])}${pick(CREDENTIALS)}${pick(HOSTS)}${pick(PORTS)}${pick(PATHS)}${pick(QUERIES)}${pick(HASHES)}`;
    check(`URL ${JSON.stringify(text)}`, () => parts(new URL(text)));
  }
  for (let at = 0; at < 300; at++) {
    const [text, base] = [pick(RELATIVE), pick(BASES)];
    check(`URL ${JSON.stringify(text)} on ${base}`, () => parts(new URL(text, base)));
  }
  for (let at = 0; at < 400; at++) {
    const start = pick(['http://u:p@host:8/a/b?q=1#h', 'https://example.com/', 'file:///x/y', 'mailto:a@b', 'foo://h/p', 'data:text/plain,x']);
    const changes = some(Object.keys(SETTERS), 3).map((name) => [name, pick(SETTERS[name])]);
    check(`URL set ${start} ${JSON.stringify(changes)}`, () => {
      const url = new URL(start);
      for (const [name, value] of changes) url[name] = value;
      return parts(url);
    });
  }
  params({ random, pick, some, check });
};

const QUERY_PIECES = ['a', 'b=', '=c', 'a=1', 'a=2', 'x%20y=1+2', '%zz=%', '%C3%A4=%E2%82%AC', '%ff=%c3', '', '&', 'a=b=c', '+=+', 'ä=ö', '%2B=%26', '\u{1F600}=1'];
const NAMES = ['a', 'b', 'x y', 'ä', '', '+', '\u{1F600}', '\ud800', 'A'];

const params = ({ random, pick, some, check }) => {
  for (let at = 0; at < 300; at++) {
    const query = pick(['', '?', '??']) + some(QUERY_PIECES, 5).join('&');
    check(`params ${JSON.stringify(query)}`, () => [[...new URLSearchParams(query)], new URLSearchParams(query).toString()]);
  }
  for (let at = 0; at < 300; at++) {
    const query = some(QUERY_PIECES, 5).join('&');
    const steps = Array.from({ length: 1 + random(4) }, () => [pick(['append', 'set', 'delete', 'sort', 'delete2']), pick(NAMES), pick(NAMES)]);
    check(`params ${JSON.stringify(query)} ${JSON.stringify(steps)}`, () => {
      const url = new URL(`http://h/?${query}`);
      for (const [step, name, value] of steps) {
        if (step === 'sort') url.searchParams.sort();
        else if (step === 'delete') url.searchParams.delete(name);
        else if (step === 'delete2') url.searchParams.delete(name, value);
        else url.searchParams[step](name, value);
      }
      return [url.href, url.searchParams.size, url.searchParams.has(steps[0][1]), url.searchParams.getAll(steps[0][1])];
    });
  }
  for (const init of [{ a: 1, b: [1, 2] }, [['a', 'b']], [['a']], [1], 5, null, true, 'x=y', new Map([['m', 'n']]), new URLSearchParams('q=r'), { [Symbol.iterator]: 1 }]) {
    check(`params of ${typeof init}`, () => new URLSearchParams(init).toString());
  }
  check('params methods without arguments', () => new URLSearchParams().get());
  check('URL without arguments', () => new URL());
  check('canParse', () => [URL.canParse('http://x'), URL.canParse('x'), URL.canParse('x', 'http://y')]);
};
