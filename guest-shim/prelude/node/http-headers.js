'use strict';
// Headers as Node's http knows them: any case kept, looked up without it, checked before they leave.
const { codedError } = internal;
const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

// Only the first of these counts when a server repeats them.
const SINGLE = new Set([
  'age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since', 'if-unmodified-since', 'last-modified',
  'location', 'max-forwards', 'proxy-authorization', 'referer', 'retry-after', 'server', 'user-agent',
]);

const validateHeaderName = (name, label = 'Header name') => {
  if (typeof name !== 'string' || !TOKEN.test(name)) throw codedError('ERR_INVALID_HTTP_TOKEN', `${label} must be a valid HTTP token ["${name}"]`, TypeError);
};
const validateHeaderValue = (name, value) => {
  if (value === undefined) throw codedError('ERR_HTTP_INVALID_HEADER_VALUE', `Invalid value "undefined" for header "${name}"`, TypeError);
  for (const item of [value].flat()) if (BAD_VALUE.test(String(item))) throw codedError('ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`, TypeError);
};

class Headers {
  #byName = new Map();
  set(name, value) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    this.#byName.set(name.toLowerCase(), { name, value });
  }
  append(name, value) {
    const before = this.get(name);
    this.set(name, before === undefined ? value : [before, value].flat());
  }
  get(name) { return this.#byName.get(String(name).toLowerCase())?.value; }
  has(name) { return this.#byName.has(String(name).toLowerCase()); }
  delete(name) { this.#byName.delete(String(name).toLowerCase()); }
  names() { return [...this.#byName.keys()]; }
  rawNames() { return [...this.#byName.values()].map(({ name }) => name); }
  toObject() { return Object.assign(Object.create(null), Object.fromEntries([...this.#byName].map(([name, { value }]) => [name, value]))); }
  pairs() { return [...this.#byName.values()].flatMap(({ name, value }) => [value].flat().map((item) => [name, String(item)])); }
}

// `headers` of a response: repeated ones joined, cookies as a list.
const joined = (pairs) => {
  const headers = {};
  for (const [rawName, value] of pairs) {
    const name = rawName.toLowerCase();
    if (name === 'set-cookie') (headers[name] ??= []).push(value);
    else if (!Object.hasOwn(headers, name)) headers[name] = value;
    else if (!SINGLE.has(name)) headers[name] += `${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
};
const distinct = (pairs) => {
  const headers = {};
  for (const [name, value] of pairs) (headers[name.toLowerCase()] ??= []).push(value);
  return headers;
};

return { Headers, joined, distinct, validateHeaderName, validateHeaderValue };
