'use strict';
// fetch, over internal.httpRequest.
const { Request, bodyOf } = internal.lazy('web/request');
const { Response, received } = internal.lazy('web/response');
const { listOf, Headers } = internal.lazy('web/headers');
const { Body } = internal.lazy('web/body');

// A failure that arrives later has the stack of the call, or it would have none of the component's frames.
const failed = (cause, called = undefined) => {
  const error = new TypeError('fetch failed', { cause });
  if (called !== undefined) internal.setFrames(error, called);
  return error;
};

// The body of a response, pulled piece by piece.
class Incoming {
  #request;
  #waiting;
  #failure;
  #isDone = false;

  attach(request) { this.#request = request; }

  next() {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.reason);
    if (this.#isDone) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#request.read();
    });
  }

  cancel() {
    this.#isDone = true;
    this.#request.cancel();
    this.#settle('resolve', undefined);
  }

  chunk(bytes) { this.#settle('resolve', bytes); }
  end() {
    this.#isDone = true;
    this.#settle('resolve', undefined);
  }
  fail(reason) {
    if (this.#isDone) return;
    this.#failure = { reason };
    this.#settle('reject', reason);
  }

  #settle(how, value) {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.[how](value);
  }
}

// Sends a body that is a stream: the next piece leaves when the one before was taken.
const upload = async (stream, request, written) => {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return request.finish();
    if (!(value instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
    if (value.length === 0) continue;
    await new Promise((resolve) => {
      written.resolve = resolve;
      request.write(value);
    });
  }
};

const headOf = (request) => ({
  method: request.method,
  url: request.url,
  headers: listOf(request.headers),
  redirect: request.redirect,
  decompress: true,
});

class Exchange {
  #request;
  #incoming = new Incoming();
  #http;
  #stream;
  #isSettled = false;
  #called = new TypeError('fetch failed');

  constructor(request) { this.#request = request; }

  run() {
    return new Promise((resolve, reject) => {
      const { signal } = this.#request;
      const body = bodyOf(this.#request);
      const written = {};
      const fail = (error) => this.#fail(error, reject);
      this.#http = internal.httpRequest(headOf(this.#request), body === undefined ? undefined : body.bytes ?? 'stream', {
        onHead: (head) => {
          this.#isSettled = true;
          resolve(received(head, new Body({ incoming: this.#incoming })));
        },
        onChunk: (bytes) => this.#incoming.chunk(bytes),
        onEnd: () => this.#incoming.end(),
        onWritten: () => written.resolve?.(),
        onError: (error) => fail(this.#isSettled ? new TypeError('terminated', { cause: error }) : failed(error, this.#called)),
      });
      this.#incoming.attach(this.#http);
      if (body !== undefined) body.isTaken = true;
      if (body !== undefined && body.bytes === undefined) {
        this.#stream = body.toStream();
        upload(this.#stream, this.#http, written).catch((error) => {
          this.#http.cancel();
          fail(failed(error, this.#called));
        });
      }
      signal.addEventListener('abort', () => {
        this.#http.cancel();
        if (this.#stream?.locked === false) this.#stream.cancel(signal.reason).catch(() => {});
        fail(signal.reason);
      }, { once: true });
    });
  }

  #fail(error, reject) {
    if (!this.#isSettled) {
      this.#isSettled = true;
      reject(error);
    }
    this.#incoming.fail(error);
  }
}

const fetchData = (url) => {
  const found = /^data:([^,]*),(.*)$/s.exec(url.replace(/#.*$/s, ''));
  if (found === null) throw failed(new Error('invalid data: URL'));
  const isBase64 = /;\s*base64\s*$/i.test(found[1]);
  const type = found[1].replace(/;\s*base64\s*$/i, '') || 'text/plain;charset=US-ASCII';
  const bytes = unescapeBytes(found[2]);
  const body = isBase64 ? host.decodeBase64(host.decodeLatin1(bytes)) : bytes;
  return received({ status: 200, statusText: 'OK', headers: [['content-type', type.startsWith(';') ? `text/plain${type}` : type]], url }, new Body({ bytes: body }));
};

const unescapeBytes = (text) => host.encodeLatin1(text.replace(/%([0-9a-f]{2})/gi, (_, pair) => String.fromCharCode(parseInt(pair, 16))));

const fetch = async (input, init = undefined) => {
  if (input === undefined) throw new TypeError('fetch requires at least 1 argument');
  const request = new Request(input, init);
  if (request.signal.aborted) throw request.signal.reason;
  const { protocol } = /^(?<protocol>[a-z][a-z0-9+.-]*):/i.exec(request.url).groups;
  if (protocol === 'data') return fetchData(request.url);
  if (protocol !== 'http' && protocol !== 'https') throw failed(new Error(protocol === 'about' || protocol === 'blob' || protocol === 'file' ? 'not implemented... yet...' : 'unknown scheme'));
  return new Exchange(request).run();
};

return { fetch, Headers, Request, Response };
