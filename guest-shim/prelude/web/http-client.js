'use strict';
// The one way out to HTTP, under `fetch` and under Node's http and https alike.
//
//   const request = internal.httpRequest(head, body, callbacks)
//
//   head       {method, url, headers: [[name, value], …], redirect: 'follow' | 'manual' | 'error', decompress, timeoutMs?}
//   body       undefined: none. A Uint8Array: all of it. 'stream': pieces follow through `write`, until `finish`.
//   callbacks  each is optional, and is called from a macrotask of its own:
//     onHead({status, statusText, headers: [[name, value], …], url, redirected})
//     onChunk(bytes)     the piece asked for with `read`
//     onEnd()            instead of a piece: the body is complete
//     onWritten()        the piece given with `write` was taken; the next may follow
//     onError(error)     the request failed, at whatever stage; nothing follows. `error.code` is Node's (ENOTFOUND …), `error.reason` the host's
//
//   request.write(bytes)   one at a time: wait for onWritten
//   request.finish()       the body is complete
//   request.read()         after onHead, one at a time: wait for onChunk or onEnd
//   request.cancel()       forgets the request; no callback is called any more
//
// Whatever is waited for is counted in core/timers.js, so that a run parks while the host works and
// ends when nothing can come any more.
const { apply, keys, parse, stringify, Map, mapGet, mapSet, mapDelete, Error } = internal.primordials;

const EMPTY = new Uint8Array(0);
const CODES = {
  dns_failure: 'ENOTFOUND',
  connect_failed: 'ECONNREFUSED',
  timeout: 'ETIMEDOUT',
  tls_failed: 'ERR_TLS_CERT_ALTNAME_INVALID',
  protocol_error: 'ECONNRESET',
  too_many_redirects: 'ERR_FR_TOO_MANY_REDIRECTS',
  refused_address: 'EACCES',
  refused_port: 'EACCES',
};

let open = new Map();

const makeError = ({ code, message }) => {
  const error = new Error(message);
  error.code = CODES[code] ?? code;
  error.reason = code;
  return error;
};

// Callbacks run in the context the request was made in.
const bound = (callbacks) => {
  if (internal.bindAsyncContext === undefined) return callbacks;
  const copies = {};
  for (const name of keys(callbacks)) copies[name] = internal.bindAsyncContext(callbacks[name]);
  return copies;
};

// An exception in a callback is uncaught; as in Node, it ends the run.
const notify = (callback, ...args) => {
  if (typeof callback !== 'function') return;
  try {
    apply(callback, undefined, args);
  } catch (error) {
    internal.fail(error);
  }
};

class HttpRequest {
  #id;
  #callbacks;
  #awaited = new Set();
  #isUploading;

  constructor(head, body, callbacks) {
    this.#callbacks = bound(callbacks);
    this.#isUploading = body === 'stream';
    const whole = body === undefined || body === null || body === 'stream' ? EMPTY : body;
    this.#id = host.fetchStart(internal.text(stringify(head)), whole, this.#isUploading);
    mapSet(open, this.#id, this);
    this.#expect('head');
  }

  write(bytes) {
    if (!this.#isUploading) {
      // The other side answered without wanting the rest.
      internal.timerFunctions.setImmediate(() => notify(this.#callbacks.onWritten));
      return;
    }
    this.#expect('written');
    host.fetchWrite(this.#id, bytes);
  }

  finish() {
    if (this.#isUploading) host.fetchFinish(this.#id);
    this.#isUploading = false;
  }

  read() {
    this.#expect('chunk');
    host.fetchRead(this.#id);
  }

  cancel() {
    if (mapGet(open, this.#id) !== this) return;
    this.#forget();
    host.fetchCancel(this.#id);
  }

  complete(what, value) {
    switch (what) {
      case 'head': this.#arrived('head'); return notify(this.#callbacks.onHead, parse(value));
      case 'chunk': this.#arrived('chunk'); return notify(this.#callbacks.onChunk, value);
      case 'written': this.#arrived('written'); return notify(this.#callbacks.onWritten);
      case 'end': return this.#end();
      default:
        this.cancel();
        return notify(this.#callbacks.onError, makeError(parse(value)));
    }
  }

  #end() {
    const wasWriting = this.#awaited.has('written');
    this.#forget();
    notify(this.#callbacks.onEnd);
    if (wasWriting) notify(this.#callbacks.onWritten);
  }

  #expect(what) {
    this.#awaited.add(what);
    internal.expectCompletion();
  }

  #arrived(what) {
    if (this.#awaited.delete(what)) internal.completionArrived();
  }

  #forget() {
    for (const what of [...this.#awaited]) this.#arrived(what);
    this.#isUploading = false;
    mapDelete(open, this.#id);
  }
}

internal.httpRequest = (head, body, callbacks) => new HttpRequest(head, body, callbacks);
internal.complete = (request, what, value) => mapGet(open, request)?.complete(what, value);

// The numbers of requests start anew in every run.
const resetTimers = internal.resetTimers;
internal.resetTimers = () => {
  resetTimers();
  open = new Map();
};
