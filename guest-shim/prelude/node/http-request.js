'use strict';
// ClientRequest over the platform's one way out. Nothing is followed, expanded or retried here.
//
// A body that is written and ended in one go leaves whole; one that takes longer, or is large, leaves in pieces, the next
// when the one before was taken.
const { Writable } = internal.builtin('stream').exports;
const { Headers } = internal.lazy('node/http-headers');
const Socket = internal.lazy('node/http-socket');
const IncomingMessage = internal.lazy('node/http-response');
const { codedError } = internal;
const { requireString, unavailable } = internal.nodeErrors;

const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);
// What is collected of a body before it leaves in pieces.
const WHOLE_BYTES = 64 * 1024;
const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;

const bracketed = (hostname) => (hostname.includes(':') && !hostname.startsWith('[') ? `[${hostname}]` : hostname);

const addGiven = (headers, given) => {
  if (Array.isArray(given)) {
    const pairs = Array.isArray(given[0]) ? given : Array.from({ length: given.length / 2 }, (unused, at) => [given[2 * at], given[2 * at + 1]]);
    for (const [name, value] of pairs) headers.append(name, value);
    return;
  }
  for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value);
};

class ClientRequest extends Writable {
  #headers = new Headers();
  #chunks = [];
  #size = 0;
  #exchange;
  #isSending = false;
  #onTaken;
  #next;
  #signal;
  #onAbort;
  #isTimed = false;

  constructor(options, callback) {
    super({ autoDestroy: false, emitClose: false, decodeStrings: true });
    const protocol = options.protocol ?? options.agent?.protocol ?? 'http:';
    const expected = options._defaultProtocol ?? protocol;
    if (protocol !== expected) throw codedError('ERR_INVALID_PROTOCOL', `Protocol "${protocol}" not supported. Expected "${expected}"`, TypeError);
    if (options.socketPath) throw unavailable('http.request with a socketPath', 'use a host');
    if (options.agent?.proxy) throw unavailable('a proxy agent', 'requests leave through the platform');
    const isEncrypted = protocol === 'https:';
    Object.assign(this, {
      protocol,
      method: requireString(options.method ?? 'GET', 'options.method').toUpperCase(),
      host: options.hostname ?? options.host ?? 'localhost',
      port: Number(options.port || options.defaultPort || (isEncrypted ? 443 : 80)),
      path: options.path || '/',
      agent: options.agent,
      aborted: false, reusedSocket: false, res: null, maxHeadersCount: null, timeout: options.timeout, finished: false, headersSent: false, shouldKeepAlive: true, timeoutCb: null,
      useChunkedEncodingByDefault: true, sendDate: false, upgradeOrConnect: false,
    });
    this.#check();
    this.socket = this.connection = new Socket({ isEncrypted, host: this.host, port: this.port });
    this.socket._onDestroy = (error) => this.destroy(error);
    this.socket.on('timeout', () => this.emit('timeout'));
    this.#takeHeaders(options);
    if (callback) this.once('response', callback);
    this.#watch(options.signal);
    internal.process.nextTick(() => this.#connect(options.timeout));
  }

  #check() {
    if (/[^\x21-\xff]/.test(this.path)) throw codedError('ERR_UNESCAPED_CHARACTERS', 'Request path contains unescaped characters', TypeError);
    if (!TOKEN.test(this.method)) throw codedError('ERR_INVALID_HTTP_TOKEN', `Method must be a valid HTTP token ["${this.method}"]`, TypeError);
  }
  #takeHeaders(options) {
    addGiven(this.#headers, options.headers);
    if (!this.#headers.has('host') && options.setHost !== false) this.#headers.set('Host', this.#origin());
    if (options.auth && !this.#headers.has('authorization')) this.#headers.set('Authorization', `Basic ${internal.Buffer.from(options.auth).toString('base64')}`);
  }
  #watch(signal) {
    if (!signal) return;
    this.#signal = signal;
    this.#onAbort = () => this.destroy(Object.assign(codedError('ABORT_ERR', 'The operation was aborted'), { name: 'AbortError', cause: signal.reason }));
    if (signal.aborted) internal.process.nextTick(this.#onAbort);
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }
  #connect(timeout) {
    if (this.destroyed) return;
    this.socket._httpMessage = this;
    this.emit('socket', this.socket);
    if (timeout && !this.#isTimed) this.socket.setTimeout(timeout);
    // A program that waits for `100 Continue` may send its body at once; the server's own answer comes with the response.
    if (String(this.#headers.get('expect') ?? '').toLowerCase() === '100-continue') this.emit('continue');
  }

  // === headers ===

  setHeader(name, value) {
    if (this.headersSent) throw codedError('ERR_HTTP_HEADERS_SENT', 'Cannot set headers after they are sent to the client');
    this.#headers.set(name, value);
    return this;
  }
  setHeaders(headers) {
    for (const [name, value] of headers) this.setHeader(name, value);
    return this;
  }
  appendHeader(name, value) {
    this.#headers.append(name, value);
    return this;
  }
  getHeader(name) { return this.#headers.get(name); }
  getHeaders() { return this.#headers.toObject(); }
  getHeaderNames() { return this.#headers.names(); }
  getRawHeaderNames() { return this.#headers.rawNames(); }
  hasHeader(name) { return this.#headers.has(name); }
  removeHeader(name) {
    if (this.headersSent) throw codedError('ERR_HTTP_HEADERS_SENT', 'Cannot remove headers after they are sent to the client');
    this.#headers.delete(name);
  }
  flushHeaders() {}
  addTrailers() {}

  // === body ===

  _write(chunk, encoding, callback) {
    if (this.#exchange !== undefined) {
      this.#pass(chunk, callback);
      return;
    }
    if (this.#chunks.length === 0) internal.timerFunctions.setImmediate(() => this.#stream());
    this.#chunks.push(Uint8Array.from(chunk));
    this.#size += chunk.length;
    if (this.#size > WHOLE_BYTES) this.#stream(callback);
    else callback();
  }
  _final(callback) {
    if (this.#isSending) {
      this.#next = () => this._final(callback);
      return;
    }
    this.finished = true;
    if (this.#exchange === undefined) {
      const body = this.#collected();
      this.#send(body.length === 0 && BODILESS.has(this.method) ? undefined : body);
    } else this.#exchange.finish();
    callback();
  }
  #collected() {
    const body = internal.Buffer.concat(this.#chunks);
    this.#chunks = [];
    return body;
  }
  #stream(callback) {
    if (this.#exchange !== undefined || this.finished || this.destroyed) return;
    this.#send('stream');
    this.#pass(this.#collected(), callback);
  }
  // One piece is on its way at a time; what comes meanwhile waits.
  #pass(bytes, callback) {
    if (this.#isSending) {
      this.#next = () => this.#pass(bytes, callback);
      return;
    }
    this.#isSending = true;
    this.#onTaken = callback;
    this.#exchange.write(Uint8Array.from(bytes));
  }
  #taken() {
    const [done, next] = [this.#onTaken, this.#next];
    this.#isSending = false;
    this.#onTaken = undefined;
    this.#next = undefined;
    this.socket._touch();
    next?.();
    done?.();
  }
  #send(body) {
    if (this.destroyed) return;
    this.headersSent = true;
    this.socket._touch();
    const head = {
      method: this.method,
      url: `${this.protocol}//${this.#origin()}${this.path.startsWith('/') ? '' : '/'}${this.path}`,
      headers: this.#headers.pairs(),
      redirect: 'manual',
      decompress: false,
    };
    this.#exchange = internal.httpRequest(head, body, {
      onHead: (answer) => this.#respond(answer),
      onChunk: (bytes) => this.res._chunk(bytes),
      onEnd: () => this.res._end(),
      onWritten: () => this.#taken(),
      onError: (error) => this.#fail(error),
    });
  }
  #origin() {
    const isDefault = this.port === (this.protocol === 'https:' ? 443 : 80);
    return `${bracketed(this.host)}${isDefault ? '' : `:${this.port}`}`;
  }

  #respond(head) {
    if (this.destroyed) return;
    this.socket._touch();
    const response = new IncomingMessage(this.socket);
    response.req = this;
    response._begin({ ...head, statusText: head.statusText || internal.lazy('node/http-status').STATUS_CODES[head.status] || '' }, this.#exchange);
    this.res = response;
    response.once('close', () => this.#close());
    // Unread bodies would keep the request open for ever.
    if (!this.emit('response', response)) response.resume();
  }
  #fail(error) {
    if (this.res !== null && !this.res.complete) this.res.destroy(error);
    else this.destroy(error);
  }

  // === ends ===

  #isClosed = false;
  #close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.socket._rest();
    if (this.#signal) this.#signal.removeEventListener('abort', this.#onAbort);
    this.destroyed = true;
    this.emit('close');
  }
  abort() {
    if (this.aborted) return;
    this.aborted = true;
    internal.process.nextTick(() => this.emit('abort'));
    this.destroy();
  }
  _destroy(error, callback) {
    this.#exchange?.cancel();
    if (this.res !== null) {
      if (!this.res.complete || !this.res.readableEnded) this.res.destroy(error ?? undefined);
      callback(null);
      internal.process.nextTick(() => this.#close());
      return;
    }
    callback(error ?? codedError('ECONNRESET', 'socket hang up'));
    internal.process.nextTick(() => this.#close());
  }
  setTimeout(delay, callback) {
    this.#isTimed = true;
    this.timeout = delay;
    if (callback) this.once('timeout', callback);
    this.socket.setTimeout(delay);
    return this;
  }
  clearTimeout(callback) { return this.setTimeout(0, callback); }
  setNoDelay() {}
  setSocketKeepAlive() {}
  onSocket() {}
}

return ClientRequest;
