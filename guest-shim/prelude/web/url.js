'use strict';
// URL, after the WHATWG's standard. Parsing is native; an instance holds its parts.
const { URLSearchParams, ofUrl, replaceQuery } = internal.lazy('web/url-search-params');
const { text } = internal;

// Where each part stands in what the natives return.
const PART = { href: 0, protocol: 1, username: 2, password: 3, host: 4, hostname: 5, port: 6, pathname: 7, search: 8, hash: 9, origin: 10 };

const invalid = (input, base) => {
  const error = internal.codedError('ERR_INVALID_URL', 'Invalid URL', TypeError);
  error.input = input;
  if (base !== undefined) error.base = base;
  return error;
};

// Any number of slashes introduces a host where the scheme has one; the native parser stops at two when there is a base.
const MANY_SLASHES = /^[\0-\x20]*[/\\]{3,}/;
const HAS_HOST = /^[\0-\x20]*(?:https?|wss?|ftp):/i;

const parse = (input, base) => {
  const isLoose = base !== undefined && MANY_SLASHES.test(input) && HAS_HOST.test(base);
  return host.urlParse(isLoose ? input.replace(MANY_SLASHES, '//') : input, base) ?? undefined;
};

class URL {
  #parts;
  #params;

  constructor(input, base = undefined) {
    if (arguments.length === 0) throw internal.codedError('ERR_MISSING_ARGS', 'The "url" argument must be specified', TypeError);
    const url = text(input);
    const onto = base === undefined ? undefined : text(base);
    const parts = parse(url, onto);
    if (parts === undefined) throw invalid(url, onto);
    this.#parts = parts;
  }

  static canParse(input, base = undefined) {
    if (arguments.length === 0) throw internal.codedError('ERR_MISSING_ARGS', 'The "url" argument must be specified', TypeError);
    return parse(text(input), base === undefined ? undefined : text(base)) !== undefined;
  }

  static parse(input, base = undefined) {
    return URL.canParse(input, base) ? new URL(input, base) : null;
  }

  #set(part, value) {
    this.#parts = host.urlSet(this.#parts[0], part, text(value)) ?? this.#parts;
  }

  get href() { return this.#parts[PART.href]; }
  set href(value) {
    const parts = parse(text(value));
    if (parts === undefined) throw invalid(text(value));
    this.#parts = parts;
    if (this.#params) replaceQuery(this.#params, this.search.slice(1));
  }
  get origin() { return this.#parts[PART.origin]; }
  get protocol() { return this.#parts[PART.protocol]; }
  set protocol(value) { this.#set('protocol', value); }
  get username() { return this.#parts[PART.username]; }
  set username(value) { this.#set('username', value); }
  get password() { return this.#parts[PART.password]; }
  set password(value) { this.#set('password', value); }
  get host() { return this.#parts[PART.host]; }
  set host(value) { this.#set('host', value); }
  get hostname() { return this.#parts[PART.hostname]; }
  set hostname(value) { this.#set('hostname', value); }
  get port() { return this.#parts[PART.port]; }
  set port(value) { this.#set('port', value); }
  get pathname() { return this.#parts[PART.pathname]; }
  set pathname(value) { this.#set('pathname', value); }
  get search() { return this.#parts[PART.search]; }
  set search(value) {
    this.#set('search', value);
    if (this.#params) replaceQuery(this.#params, this.search.slice(1));
  }
  get searchParams() {
    this.#params ??= ofUrl(this.search.slice(1), (query) => this.#set('search', query));
    return this.#params;
  }
  get hash() { return this.#parts[PART.hash]; }
  set hash(value) { this.#set('hash', value); }

  toString() { return this.href; }
  toJSON() { return this.href; }

  get [Symbol.toStringTag]() { return 'URL'; }

  [internal.inspect.custom](depth, options, inspect) {
    const shown = {};
    for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash']) {
      shown[name] = this[name];
    }
    return `URL ${inspect(shown, options)}`;
  }
}
internal.makeEnumerable(URL.prototype);

return { URL, URLSearchParams };
