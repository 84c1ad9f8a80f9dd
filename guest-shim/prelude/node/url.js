'use strict';
// `url`: the old parser that packages still use, and helpers around the new one.
const { codedError } = internal;
const { requireString, invalidArgType, invalidArgValue } = internal.nodeErrors;
const { URL, URLSearchParams } = internal.lazy('web/url');
const querystring = () => internal.builtin('querystring').exports;

const SLASHED = new Set(['http', 'https', 'ftp', 'gopher', 'file', 'ws', 'wss']);
const ESCAPED = /[<>"`\r\n\t {}|\\^']/g;
const escapeOf = (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

class Url {
  constructor() {
    for (const field of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) this[field] = null;
  }
  parse(text, parsesQuery, slashesDenoteHost) { return Object.assign(this, parse(text, parsesQuery, slashesDenoteHost)); }
  format() { return format(this); }
  resolve(relative) { return resolve(this.href, relative); }
  resolveObject(relative) { return parse(resolve(this.href, relative)); }
}

// user:password@host:port
const takeAuthority = (url, authority) => {
  const at = authority.lastIndexOf('@');
  if (at >= 0) url.auth = querystring().unescape(authority.slice(0, at));
  const place = authority.slice(at + 1);
  const port = /:(\d*)$/.exec(place);
  const bare = port ? place.slice(0, port.index) : place;
  if (port && port[1] !== '') url.port = port[1];
  const isLiteral = bare.startsWith('[') && bare.endsWith(']');
  const hostname = isLiteral ? bare.slice(1, -1).toLowerCase() : asciiHost(bare);
  url.hostname = hostname;
  url.host = `${isLiteral ? `[${hostname}]` : hostname}${url.port === null ? '' : `:${url.port}`}`;
};

const asciiHost = (hostname) => {
  const lower = hostname.toLowerCase();
  return /[^\0-\x7f]/.test(lower) ? host.domainToAscii(lower) || lower : lower;
};

const parse = (text, parsesQuery = false, slashesDenoteHost = false) => {
  if (text instanceof Url) return text;
  requireString(text, 'url');
  const url = new Url();
  // Backslashes before the query are slashes, as browsers have it.
  const cut = text.trim().search(/[?#]/);
  const trimmed = text.trim();
  let rest = cut < 0 ? trimmed.replace(/\\/g, '/') : trimmed.slice(0, cut).replace(/\\/g, '/') + trimmed.slice(cut);
  const scheme = /^([a-z0-9.+-]+):/i.exec(rest);
  if (scheme) {
    url.protocol = scheme[0].toLowerCase();
    rest = rest.slice(scheme[0].length);
  }
  const name = url.protocol?.slice(0, -1);
  const hasSlashes = rest.startsWith('//') && name !== 'javascript' && (scheme || slashesDenoteHost || /^\/\/[^@/]+@[^@/]+/.test(rest));
  if (hasSlashes) {
    url.slashes = true;
    rest = rest.slice(2);
  }
  // Unknown schemes have a host without slashes: mailto:user@example.com.
  if (hasSlashes || (scheme && !SLASHED.has(name) && name !== 'javascript')) {
    const end = rest.search(/[/?#]/);
    takeAuthority(url, end < 0 ? rest : rest.slice(0, end));
    rest = end < 0 ? '' : rest.slice(end);
  }
  rest = rest.replace(ESCAPED, escapeOf);
  takePath(url, rest, parsesQuery);
  if (SLASHED.has(name) && url.hostname && !url.pathname) url.pathname = '/';
  if (url.pathname !== null || url.search !== null) url.path = (url.pathname ?? '') + (url.search ?? '');
  url.href = format(url);
  return url;
};

const takePath = (url, rest, parsesQuery) => {
  const hash = rest.indexOf('#');
  if (hash >= 0) url.hash = rest.slice(hash);
  const before = hash < 0 ? rest : rest.slice(0, hash);
  const question = before.indexOf('?');
  if (question >= 0) {
    url.search = before.slice(question);
    url.query = before.slice(question + 1);
  } else if (parsesQuery) {
    url.search = '';
    url.query = '';
  }
  if (parsesQuery) url.query = querystring().parse(url.query);
  const pathname = question < 0 ? before : before.slice(0, question);
  if (pathname !== '') url.pathname = pathname;
  if (parsesQuery && url.search === '') url.search = null;
};

const formatWhatwg = (url, options = {}) => {
  const copy = new URL(url.href);
  if (options.fragment === false) copy.hash = '';
  if (options.search === false) copy.search = '';
  if (options.auth === false) copy.username = copy.password = '';
  return copy.href;
};

const format = (given, options) => {
  if (typeof given === 'string') return parse(given).href;
  if (typeof given !== 'object' || given === null) throw invalidArgType('urlObject', ['an instance of Object', 'string'], given);
  if (given instanceof URL) return formatWhatwg(given, options);
  const protocol = given.protocol ? (given.protocol.endsWith(':') ? given.protocol : `${given.protocol}:`) : '';
  const auth = given.auth ? `${encodeURIComponent(given.auth).replace(/%3A/i, ':')}@` : '';
  let place = '';
  if (given.host) place = auth + given.host;
  else if (given.hostname) {
    const hostname = given.hostname.includes(':') && !given.hostname.startsWith('[') ? `[${given.hostname}]` : given.hostname;
    place = `${auth}${hostname}${given.port ? `:${given.port}` : ''}`;
  }
  const query = given.query !== null && typeof given.query === 'object' ? querystring().stringify(given.query) : '';
  let search = given.search || (query && `?${query}`) || '';
  if (search && !search.startsWith('?')) search = `?${search}`;
  let hash = given.hash || '';
  if (hash && !hash.startsWith('#')) hash = `#${hash}`;
  let pathname = (given.pathname || '').replace(/[?#]/g, encodeURIComponent);
  const hasSlashes = given.slashes || ((protocol === '' || SLASHED.has(protocol.slice(0, -1))) && place !== '');
  if (hasSlashes) {
    place = `//${place}`;
    if (pathname && !pathname.startsWith('/')) pathname = `/${pathname}`;
  }
  return protocol + place + pathname + search.replace('#', '%23') + hash;
};

const resolve = (from, to) => {
  const base = new URL(String(from), 'resolve://host/');
  const resolved = new URL(String(to), base);
  if (resolved.protocol !== 'resolve:') return resolved.href;
  const { pathname, search, hash } = resolved;
  return (/^\.{0,2}\/|^$/.test(from) || from.startsWith('/') ? pathname : pathname.slice(1)) + search + hash;
};

const fileURLToPath = (given) => {
  const url = typeof given === 'string' ? new URL(given) : given;
  if (url?.href === undefined) throw invalidArgType('path', ['string', 'an instance of URL'], given);
  if (url.protocol !== 'file:') throw codedError('ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file', TypeError);
  if (url.hostname !== '') throw codedError('ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux', TypeError);
  if (/%2f/i.test(url.pathname)) throw invalidArgValue('path', url.href, 'must not include encoded / characters');
  return decodeURIComponent(url.pathname);
};

const pathToFileURL = (path) => {
  const resolved = internal.builtin('path').exports.resolve(path) + (path.endsWith('/') && path !== '/' ? '/' : '');
  return new URL(`file://${resolved.replace(/[%\\\n\r\t?#]/g, encodeURIComponent)}`);
};

const urlToHttpOptions = (url) => {
  const options = {
    protocol: url.protocol,
    hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    hash: url.hash,
    search: url.search,
    pathname: url.pathname,
    path: `${url.pathname || ''}${url.search || ''}`,
    href: url.href,
  };
  if (url.port !== '') options.port = Number(url.port);
  if (url.username || url.password) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return options;
};

return {
  Url,
  parse,
  format,
  resolve,
  resolveObject: (from, to) => parse(resolve(from, to)),
  fileURLToPath,
  pathToFileURL,
  urlToHttpOptions,
  domainToASCII: (domain) => host.domainToAscii(String(domain)) || '',
  domainToUnicode: (domain) => internal.builtin('punycode').exports.toUnicode(String(domain)),
  URL,
  URLSearchParams,
};
