'use strict';
// IncomingMessage: the answer to a request, its body pulled as it is read.
const { Readable } = internal.builtin('stream').exports;
const { joined, distinct } = internal.lazy('node/http-headers');
const { codedError } = internal;

return class IncomingMessage extends Readable {
  #pairs = [];
  #exchange;
  #isReading = false;
  constructor(socket) {
    super({ highWaterMark: 64 * 1024 });
    Object.assign(this, {
      socket, httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1, complete: false, aborted: false, url: '', method: null, statusCode: null, statusMessage: null,
      upgrade: null, rawTrailers: [], trailers: {}, trailersDistinct: {}, _consumed: false,
    });
  }
  _begin(head, exchange) {
    this.statusCode = head.status;
    this.statusMessage = head.statusText;
    this.#pairs = head.headers;
    this.#exchange = exchange;
  }
  _chunk(bytes) {
    this.#isReading = false;
    this.socket?._touch();
    this.push(internal.bufferOver(bytes));
  }
  _end() {
    this.complete = true;
    this.socket?._rest();
    this.push(null);
  }
  get connection() { return this.socket; }
  get headers() { return (this._headers ??= joined(this.#pairs)); }
  set headers(headers) { this._headers = headers; }
  get headersDistinct() { return distinct(this.#pairs); }
  get rawHeaders() { return (this._rawHeaders ??= this.#pairs.flat()); }
  set rawHeaders(headers) { this._rawHeaders = headers; }
  setTimeout(delay, callback) {
    if (callback) this.on('timeout', callback);
    this.socket?.setTimeout(delay);
    return this;
  }
  _read() {
    // One piece at a time is what the platform gives.
    if (this.#isReading || this.complete || this.#exchange === undefined) return;
    this.#isReading = true;
    this.#exchange.read();
  }
  _destroy(error, callback) {
    let failure = error;
    if (!this.readableEnded && !this.complete) {
      this.aborted = true;
      this.emit('aborted');
      this.#exchange?.cancel();
      if (failure === null && this.listenerCount('error') > 0) failure = codedError('ECONNRESET', 'aborted');
    }
    this.socket?._rest();
    callback(failure);
  }
};
