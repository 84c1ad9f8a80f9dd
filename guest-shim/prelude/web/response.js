'use strict';
// Response.
const { Headers, freezeHeaders } = internal.lazy('web/headers');
const { extract, mixin } = internal.lazy('web/body');
const { URL } = internal.lazy('web/url');

const BODILESS = new Set([101, 103, 204, 205, 304]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

class Response {
  #status;
  #statusText;
  #headers;
  #body;
  #type = 'default';
  #url = '';
  #isRedirected = false;

  constructor(body = null, init = {}) {
    const { status = 200, statusText = '', headers } = init ?? {};
    const code = Math.trunc(Number(status));
    if (!(code >= 200 && code <= 599)) throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    if (/[^\t\x20-\x7e\x80-\xff]/.test(String(statusText))) throw new TypeError('Invalid statusText');
    this.#status = code;
    this.#statusText = String(statusText);
    this.#headers = new Headers(headers);
    this.#body = extract(body);
    if (this.#body === undefined) return;
    if (BODILESS.has(code)) throw new TypeError(`Response constructor: Invalid response status code ${code}`);
    if (this.#body.type !== undefined && !this.#headers.has('content-type')) this.#headers.set('content-type', this.#body.type);
  }

  static body(response) { return response.#body; }

  // What `fetch` received.
  static received({ status, statusText, headers, url, redirected }, body) {
    const response = new Response();
    response.#status = status;
    response.#statusText = statusText ?? '';
    response.#headers = new Headers(headers);
    freezeHeaders(response.#headers);
    response.#url = url.replace(/#.*$/s, '');
    response.#isRedirected = Boolean(redirected);
    response.#type = 'basic';
    response.#body = BODILESS.has(status) ? undefined : body;
    return response;
  }

  static error() {
    const response = new Response();
    response.#type = 'error';
    response.#status = 0;
    freezeHeaders(response.#headers);
    return response;
  }

  static redirect(url, status = 302) {
    let location;
    try {
      location = new URL(String(url)).href;
    } catch (cause) {
      throw new TypeError(`Failed to parse URL from ${String(url)}`, { cause });
    }
    if (!REDIRECTS.has(Number(status))) throw new RangeError(`Invalid status code ${status}`);
    const response = new Response(null, { status, headers: { location } });
    freezeHeaders(response.#headers);
    return response;
  }

  static json(data, init = {}) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError('Value is not JSON serializable');
    const headers = new Headers(init?.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...init, headers });
  }

  get type() { return this.#type; }
  get url() { return this.#url; }
  get redirected() { return this.#isRedirected; }
  get status() { return this.#status; }
  get ok() { return this.#status >= 200 && this.#status <= 299; }
  get statusText() { return this.#statusText; }
  get headers() { return this.#headers; }

  clone() {
    const body = this.#body?.clone();
    const made = new Response();
    made.#status = this.#status;
    made.#statusText = this.#statusText;
    made.#headers = new Headers(this.#headers);
    made.#type = this.#type;
    made.#url = this.#url;
    made.#isRedirected = this.#isRedirected;
    made.#body = body;
    return made;
  }

  get [Symbol.toStringTag]() { return 'Response'; }
  [internal.inspect.custom](depth, options, inspect) {
    const { status, statusText, headers, bodyUsed, ok, redirected, type, url } = this;
    return `Response ${inspect({ status, statusText, headers, bodyUsed, ok, redirected, type, url }, options)}`;
  }
}
const { body: bodyOf, received } = Response;
delete Response.body;
delete Response.received;
internal.makeEnumerable(Response.prototype);
mixin(Response, bodyOf);

return { Response, received };
