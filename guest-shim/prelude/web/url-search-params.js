'use strict';
// URLSearchParams, after the WHATWG's URL standard.
const { text } = internal;

const ENCODED = { '!': '%21', "'": '%27', '(': '%28', ')': '%29', '~': '%7E', '%20': '+' };

const encode = (string) => encodeURIComponent(text(string)).replace(/[!'()~]|%20/g, (found) => ENCODED[found]);

const decodeSlowly = (string) => {
  const source = host.encodeUtf8(string);
  const bytes = new Uint8Array(source.length);
  let length = 0;
  for (let at = 0; at < source.length; at++) {
    const pair = source[at] === 0x25 ? String.fromCharCode(source[at + 1], source[at + 2]) : '';
    if (/^[0-9a-f]{2}$/i.test(pair)) {
      bytes[length++] = parseInt(pair, 16);
      at += 2;
    } else {
      bytes[length++] = source[at];
    }
  }
  return host.decodeText('utf-8', bytes.subarray(0, length), false, true);
};

const decode = (string) => {
  const spaced = string.includes('+') ? string.replaceAll('+', ' ') : string;
  if (!spaced.includes('%')) return text(spaced);
  try {
    return decodeURIComponent(text(spaced));
  } catch {
    return decodeSlowly(text(spaced));
  }
};

const parse = (query) => {
  const pairs = [];
  for (const part of query.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    pairs.push(at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]);
  }
  return pairs;
};

const serialize = (pairs) => pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&');

const fromIterable = (init) => {
  const pairs = [];
  for (const pair of init) {
    if ((typeof pair !== 'object' && typeof pair !== 'function') || pair === null || typeof pair[Symbol.iterator] !== 'function') {
      throw internal.codedError('ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple', TypeError);
    }
    const items = [...pair];
    if (items.length !== 2) throw internal.codedError('ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple', TypeError);
    pairs.push([text(items[0]), text(items[1])]);
  }
  return pairs;
};

const fromRecord = (init) => {
  const pairs = new Map();
  for (const key of Reflect.ownKeys(init)) {
    if (typeof key === 'symbol' || !Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
    pairs.set(text(key), text(init[key]));
  }
  return [...pairs];
};

const missing = (names) => internal.codedError('ERR_MISSING_ARGS', `The ${names} must be specified`, TypeError);

class URLSearchParams {
  #pairs = [];
  #changed;

  constructor(init = undefined) {
    if (init === undefined || init === null) return;
    if (typeof init === 'object' || typeof init === 'function') {
      const iterate = init[Symbol.iterator];
      if (init instanceof URLSearchParams && iterate === URLSearchParams.prototype[Symbol.iterator]) this.#pairs = init.#pairs.map(([name, value]) => [name, value]);
      else if (iterate === undefined || iterate === null) this.#pairs = fromRecord(init);
      else if (typeof iterate !== 'function') throw internal.codedError('ERR_ARG_NOT_ITERABLE', 'Query pairs must be iterable', TypeError);
      else this.#pairs = fromIterable(init);
      return;
    }
    const query = text(init);
    this.#pairs = parse(query.startsWith('?') ? query.slice(1) : query);
  }

  // The parameters of a URL: `changed` hears the new query.
  static of(query, changed) {
    const params = new URLSearchParams();
    params.#pairs = parse(query);
    params.#changed = changed;
    return params;
  }

  static replace(params, query) { params.#pairs = parse(query); }

  get size() { return this.#pairs.length; }

  append(name, value) {
    if (arguments.length < 2) throw missing('"name" and "value" arguments');
    this.#pairs.push([text(name), text(value)]);
    this.#tell();
  }

  delete(name, value) {
    if (arguments.length < 1) throw missing('"name" argument');
    const key = text(name);
    const only = value === undefined ? undefined : text(value);
    this.#pairs = this.#pairs.filter((pair) => pair[0] !== key || (only !== undefined && pair[1] !== only));
    this.#tell();
  }

  get(name) {
    if (arguments.length < 1) throw missing('"name" argument');
    const key = text(name);
    return this.#pairs.find((pair) => pair[0] === key)?.[1] ?? null;
  }

  getAll(name) {
    if (arguments.length < 1) throw missing('"name" argument');
    const key = text(name);
    return this.#pairs.filter((pair) => pair[0] === key).map((pair) => pair[1]);
  }

  has(name, value) {
    if (arguments.length < 1) throw missing('"name" argument');
    const key = text(name);
    const only = value === undefined ? undefined : text(value);
    return this.#pairs.some((pair) => pair[0] === key && (only === undefined || pair[1] === only));
  }

  set(name, value) {
    if (arguments.length < 2) throw missing('"name" and "value" arguments');
    const key = text(name);
    const at = this.#pairs.findIndex((pair) => pair[0] === key);
    if (at < 0) this.#pairs.push([key, text(value)]);
    else {
      this.#pairs[at][1] = text(value);
      this.#pairs = this.#pairs.filter((pair, index) => index <= at || pair[0] !== key);
    }
    this.#tell();
  }

  sort() {
    this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.#tell();
  }

  forEach(callback, self = undefined) {
    if (typeof callback !== 'function') throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "callback" argument must be of type function.', TypeError);
    for (let at = 0; at < this.#pairs.length; at++) callback.call(self, this.#pairs[at][1], this.#pairs[at][0], this);
  }

  // By index and not over a copy: what is added or removed on the way counts.
  * entries() { for (let at = 0; at < this.#pairs.length; at++) yield [...this.#pairs[at]]; }
  * keys() { for (let at = 0; at < this.#pairs.length; at++) yield this.#pairs[at][0]; }
  * values() { for (let at = 0; at < this.#pairs.length; at++) yield this.#pairs[at][1]; }

  toString() { return serialize(this.#pairs); }

  #tell() { this.#changed?.(serialize(this.#pairs)); }

  get [Symbol.toStringTag]() { return 'URLSearchParams'; }

  [internal.inspect.custom](depth, options, inspect) {
    const shown = this.#pairs.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`);
    return shown.length === 0 ? 'URLSearchParams {}' : `URLSearchParams { ${shown.join(', ')} }`;
  }
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });

const { of, replace } = URLSearchParams;
delete URLSearchParams.of;
delete URLSearchParams.replace;
internal.makeEnumerable(URLSearchParams.prototype);

return { URLSearchParams, ofUrl: of, replaceQuery: replace, parseQuery: parse, serializeQuery: serialize };
