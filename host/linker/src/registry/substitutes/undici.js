// Stands for the npm package undici, which speaks HTTP over sockets of its own: the same calls over the platform's fetch.
'use strict';
const { EventEmitter } = require('events');
const { Readable, finished } = require('stream');
const consumers = require('stream/consumers');

class UndiciError extends Error {
  constructor(message, code = 'UND_ERR') {
    super(message);
    this.name = this.constructor.name;
    this.code = code;
  }
}
const errors = { UndiciError };
const define = (name, code) => {
  errors[name] = { [name]: class extends UndiciError { constructor(message = name) { super(message, code); } } }[name];
};
for (const [name, code] of Object.entries({
  ConnectTimeoutError: 'UND_ERR_CONNECT_TIMEOUT', HeadersTimeoutError: 'UND_ERR_HEADERS_TIMEOUT', BodyTimeoutError: 'UND_ERR_BODY_TIMEOUT',
  InvalidArgumentError: 'UND_ERR_INVALID_ARG', InvalidReturnValueError: 'UND_ERR_INVALID_RETURN_VALUE', RequestAbortedError: 'UND_ERR_ABORTED',
  ClientDestroyedError: 'UND_ERR_DESTROYED', ClientClosedError: 'UND_ERR_CLOSED', SocketError: 'UND_ERR_SOCKET', NotSupportedError: 'UND_ERR_NOT_SUPPORTED',
  ResponseExceededMaxSizeError: 'UND_ERR_RES_EXCEEDED_MAX_SIZE', InformationalError: 'UND_ERR_INFO',
})) define(name, code);

const headersOf = (given) => {
  const headers = new Headers();
  const add = (name, value) => { for (const item of [value].flat()) if (item !== undefined && item !== null) headers.append(name, String(item)); };
  if (Array.isArray(given) && !Array.isArray(given[0])) for (let at = 0; at < given.length; at += 2) add(given[at], given[at + 1]);
  else for (const [name, value] of given?.[Symbol.iterator] ? given : Object.entries(given ?? {})) add(name, value);
  return headers;
};

const plain = (headers) => {
  const found = {};
  headers.forEach((value, name) => { if (name !== 'set-cookie') found[name] = value; });
  const cookies = headers.getSetCookie();
  if (cookies.length > 0) found['set-cookie'] = cookies;
  return found;
};

const bodyOf = (body) => {
  if (typeof body?.pipe === 'function') return Readable.toWeb(body);
  return typeof body?.[Symbol.asyncIterator] === 'function' && !(body instanceof ReadableStream) ? Readable.toWeb(Readable.from(body)) : body;
};

const addressOf = (url, { origin, path, query } = {}) => {
  const base = typeof url === 'object' && url !== null && !(url instanceof URL) ? `${url.origin ?? ''}${url.path ?? url.pathname ?? ''}` : String(url ?? '');
  const address = new URL(path ?? base, origin ?? (base || undefined));
  for (const [name, value] of Object.entries(query ?? {})) for (const item of [value].flat()) address.searchParams.append(name, item);
  return address;
};

const timeoutOf = ({ headersTimeout, bodyTimeout }) => [headersTimeout, bodyTimeout].filter((time) => time > 0).sort((a, b) => a - b)[0];

const signalOf = (options) => {
  const signals = [];
  if (options.signal instanceof AbortSignal) signals.push(options.signal);
  const timeout = timeoutOf(options);
  if (timeout) signals.push(AbortSignal.timeout(timeout));
  return signals.length > 0 ? AbortSignal.any(signals) : undefined;
};

const send = async (address, options) => {
  const { method = options.body ? 'PUT' : 'GET', body, headers, maxRedirections } = options;
  const sent = bodyOf(body);
  try {
    return await fetch(address, {
      method, headers: headersOf(headers), body: sent ?? undefined, redirect: maxRedirections > 0 ? 'follow' : 'manual', signal: signalOf(options),
      ...(sent instanceof ReadableStream && { duplex: 'half' }),
    });
  } catch (error) {
    if (error?.name === 'TimeoutError') throw new errors.HeadersTimeoutError('Headers Timeout Error');
    if (error?.name === 'AbortError') throw options.signal?.reason ?? new errors.RequestAbortedError('Request aborted');
    throw error;
  }
};

const readable = (response) => {
  const body = response.body ? Readable.fromWeb(response.body) : Readable.from([]);
  let isUsed = false;
  const once = (read) => async () => {
    if (isUsed) throw new TypeError('unusable');
    isUsed = true;
    return read(body);
  };
  body.text = once(consumers.text);
  body.json = once(consumers.json);
  body.arrayBuffer = once(consumers.arrayBuffer);
  body.bytes = once(async (stream) => new Uint8Array(await consumers.arrayBuffer(stream)));
  body.blob = once(consumers.blob);
  body.dump = async () => { body.resume(); await new Promise((resolve) => { finished(body, resolve); }); };
  Object.defineProperty(body, 'bodyUsed', { get: () => isUsed || Readable.isDisturbed(body) });
  return body;
};

const answered = (promise, callback) => {
  if (typeof callback !== 'function') return promise;
  promise.then((value) => callback(null, value), (error) => callback(error, null));
  return undefined;
};

const respond = async (address, options) => {
  const response = await send(address, options);
  const { status: statusCode, statusText } = response;
  if (options.throwOnError && statusCode >= 400) throw new UndiciError(`Response status code ${statusCode}: ${statusText}`, 'UND_ERR_RESPONSE_STATUS_CODE');
  return { statusCode, statusText, headers: plain(response.headers), trailers: {}, opaque: options.opaque ?? null, context: {}, body: readable(response) };
};

const request = (url, options = {}, callback = undefined) => {
  const [given, done] = typeof options === 'function' ? [{}, options] : [options ?? {}, callback];
  return answered(respond(addressOf(url, given), { ...(typeof url === 'object' && !(url instanceof URL) ? url : {}), ...given }), done);
};

const stream = async (url, options, factory) => {
  const { statusCode, headers, body, opaque } = await request(url, options);
  const target = factory({ statusCode, headers, opaque });
  body.pipe(target);
  await new Promise((resolve, reject) => { finished(target, (error) => (error ? reject(error) : resolve())); });
  return { opaque, trailers: {} };
};

// Connections are the platform's; what is set on a dispatcher besides its origin has nothing to act on.
class Dispatcher extends EventEmitter {
  closed = false;
  destroyed = false;
  #origin;
  constructor(origin) {
    super();
    this.#origin = typeof origin === 'string' || origin instanceof URL ? origin : undefined;
  }
  #options(options) { return { origin: this.#origin, ...options }; }
  request(options, callback) { return answered(respond(addressOf(undefined, this.#options(options)), this.#options(options)), callback); }
  stream(options, factory) { return stream(addressOf(undefined, this.#options(options)), options, factory); }
  dispatch() { throw new errors.NotSupportedError('a component has no sockets to dispatch to; use request or fetch'); }
  compose() { return this; }
  async close() { this.closed = true; }
  async destroy() { this.closed = true; this.destroyed = true; }
}
class Agent extends Dispatcher {}
class Client extends Dispatcher {}
class Pool extends Dispatcher {}
class BalancedPool extends Dispatcher {}
class RetryAgent extends Dispatcher {}
class ProxyAgent extends Dispatcher {}
class EnvHttpProxyAgent extends Dispatcher {}

let global = new Agent();
const interceptor = () => (dispatch) => dispatch;
const interceptors = Object.fromEntries(['redirect', 'responseError', 'retry', 'dump', 'dns', 'cache', 'decompress', 'deduplicate'].map((name) => [name, interceptor]));

module.exports = {
  request, stream, errors, interceptors, Dispatcher, Agent, Client, Pool, BalancedPool, RetryAgent, ProxyAgent, EnvHttpProxyAgent,
  fetch: (...given) => globalThis.fetch(...given),
  Headers, Request, Response, FormData, File,
  get WebSocket() { return globalThis.WebSocket; },
  buildConnector: () => { throw new errors.NotSupportedError('a component has no sockets to connect'); },
  setGlobalDispatcher: (dispatcher) => { global = dispatcher; },
  getGlobalDispatcher: () => global,
  setGlobalOrigin: () => {},
  getGlobalOrigin: () => undefined,
  util: { parseHeaders: (headers) => headers, headerNameToString: (name) => String(name).toLowerCase() },
};
module.exports.default = module.exports;
