'use strict';
// Request.
const { Headers } = internal.lazy('web/headers');
const { URL } = internal.lazy('web/url');
const { AbortController, AbortSignal } = internal.lazy('web/abort');
const { extract, mixin } = internal.lazy('web/body');

const NORMAL_METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT']);
const CHOICES = {
  redirect: ['follow', 'error', 'manual'],
  mode: ['navigate', 'same-origin', 'no-cors', 'cors'],
  credentials: ['omit', 'same-origin', 'include'],
  cache: ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'],
  referrerPolicy: ['', 'no-referrer', 'no-referrer-when-downgrade', 'same-origin', 'origin', 'strict-origin', 'origin-when-cross-origin', 'strict-origin-when-cross-origin', 'unsafe-url'],
};
const DEFAULTS = { redirect: 'follow', mode: 'cors', credentials: 'same-origin', cache: 'default', referrerPolicy: '', referrer: 'about:client', integrity: '', keepalive: false };

const normalMethod = (method) => {
  const given = String(method);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(given)) throw new TypeError(`'${given}' is not a valid HTTP method.`);
  const upper = given.toUpperCase();
  if (['CONNECT', 'TRACE', 'TRACK'].includes(upper)) throw new TypeError(`'${given}' HTTP method is unsupported.`);
  return NORMAL_METHODS.has(upper) ? upper : given;
};

const parseUrl = (input) => {
  let url;
  try {
    url = new URL(String(input));
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${String(input)}`, { cause });
  }
  if (url.username !== '' || url.password !== '') throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${String(input)}`);
  return url;
};

const chosen = (name, init, inherited) => {
  const value = init[name];
  if (value === undefined) return inherited ?? DEFAULTS[name];
  if (CHOICES[name] !== undefined && !CHOICES[name].includes(String(value))) {
    throw new TypeError(`Request constructor: ${String(value)} is not an accepted type. Expected one of ${CHOICES[name].join(', ')}.`);
  }
  return name === 'keepalive' ? Boolean(value) : String(value);
};

class Request {
  #url;
  #method;
  #headers;
  #body;
  #signal;
  #settings = {};

  constructor(input, init = {}) {
    if (arguments.length === 0) throw new TypeError('Request constructor: 1 argument required, but only 0 present.');
    const given = init ?? {};
    const other = input instanceof Request ? input : undefined;
    this.#url = other ? other.#url : parseUrl(input);
    this.#method = given.method === undefined ? other?.#method ?? 'GET' : normalMethod(given.method);
    for (const name of Object.keys(DEFAULTS)) this.#settings[name] = chosen(name, given, other?.#settings[name]);
    this.#headers = new Headers(given.headers ?? other?.#headers);
    this.#signal = follow(given.signal === undefined ? other?.#signal : given.signal);
    this.#takeBody(given, other);
  }

  #takeBody(init, other) {
    const hasBody = init.body !== undefined && init.body !== null;
    if ((hasBody || (other?.#body && init.body === undefined)) && (this.#method === 'GET' || this.#method === 'HEAD')) {
      throw new TypeError('Request with GET/HEAD method cannot have body.');
    }
    if (hasBody) {
      this.#body = extract(init.body);
      if (this.#body.stream !== undefined && init.duplex === undefined) throw new TypeError('RequestInit: duplex option is required when sending a body.');
      if (this.#body.type !== undefined && !this.#headers.has('content-type')) this.#headers.set('content-type', this.#body.type);
      return;
    }
    if (other?.#body === undefined || init.body === null) return;
    if (other.#body.isUsed || other.#body.stream?.locked) throw new TypeError('Cannot construct a Request with a Request object that has already been used.');
    this.#body = other.#body.clone();
    // What was the other's is this one's now.
    other.#body.isTaken = true;
  }

  static body(request) { return request.#body; }

  get url() { return this.#url.href; }
  get method() { return this.#method; }
  get headers() { return this.#headers; }
  get signal() { return this.#signal; }
  get redirect() { return this.#settings.redirect; }
  get mode() { return this.#settings.mode; }
  get credentials() { return this.#settings.credentials; }
  get cache() { return this.#settings.cache; }
  get referrer() { return this.#settings.referrer; }
  get referrerPolicy() { return this.#settings.referrerPolicy; }
  get integrity() { return this.#settings.integrity; }
  get keepalive() { return this.#settings.keepalive; }
  get destination() { return ''; }
  get duplex() { return 'half'; }

  clone() {
    const body = this.#body?.clone();
    const made = new Request(this.#url.href, { ...this.#settings, method: this.#method, headers: this.#headers, signal: this.#signal });
    made.#body = body;
    return made;
  }

  get [Symbol.toStringTag]() { return 'Request'; }
}
const { body: bodyOf } = Request;
delete Request.body;
internal.makeEnumerable(Request.prototype);
mixin(Request, bodyOf);

const follow = (signal) => {
  if (signal === undefined || signal === null) return new AbortController().signal;
  if (typeof signal !== 'object' || typeof signal.addEventListener !== 'function' || typeof signal.aborted !== 'boolean') {
    throw new TypeError("Failed to construct 'Request': member signal is not of type AbortSignal.");
  }
  if (signal instanceof AbortSignal) return AbortSignal.any([signal]);
  // A signal of another implementation, such as npm's abort-controller.
  const controller = new AbortController();
  if (signal.aborted) controller.abort(signal.reason);
  else signal.addEventListener('abort', () => controller.abort(signal.reason));
  return controller.signal;
};

return { Request, bodyOf };
