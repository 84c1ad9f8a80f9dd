'use strict';
// Bodies of requests and responses.
//
// A body is bytes at hand, a ReadableStream, or an incoming response that is pulled as needed. Streams are made only when
// a program asks for one, because most programs want the whole.
const { isBytes, bytesOf, concat, bufferOf } = internal.lazy('web/bytes');
const { URLSearchParams } = internal.lazy('web/url-search-params');

const EMPTY = new Uint8Array(0);

// Classes that are loaded on first use; before, no value can be an instance of them.
const isOf = (part, name) => (value) => typeof value === 'object' && value !== null && value instanceof internal.lazy(part)[name];
const isBlob = isOf('web/blob', 'Blob');
const isForm = isOf('web/form-data', 'FormData');
const isStream = (value) => typeof value === 'object' && value !== null && typeof value.getReader === 'function';

class Body {
  // `incoming` is {next(): Promise<bytes | undefined>, cancel()}.
  constructor({ bytes, stream, incoming, type, length }) {
    this.bytes = bytes;
    this.stream = stream;
    this.incoming = incoming;
    this.type = type;
    this.length = length;
    this.isTaken = false;
  }

  get isUsed() { return this.isTaken || this.stream?._disturbed === true; }

  // The stream that `body` returns; from then on it is the only way to the data.
  toStream() {
    if (this.stream !== undefined) return this.stream;
    const { ReadableStream } = internal.lazy('web/streams');
    const { bytes, incoming } = this;
    let rest = bytes;
    this.stream = new ReadableStream({
      type: 'bytes',
      async pull(controller) {
        const piece = incoming === undefined ? rest : await incoming.next();
        rest = undefined;
        if (piece !== undefined && piece.length > 0) controller.enqueue(piece.slice());
        if (piece === undefined || incoming === undefined) {
          controller.close();
          controller.byobRequest?.respond(0);
        }
      },
      cancel: (reason) => incoming?.cancel(reason),
    }, { highWaterMark: 0 });
    return this.stream;
  }

  // All of it.
  async consume() {
    if (this.isUsed || this.stream?.locked) throw new TypeError('Body is unusable: Body has already been read');
    this.isTaken = true;
    if (this.stream !== undefined) return readStream(this.stream);
    if (this.incoming === undefined) return this.bytes;
    const pieces = [EMPTY];
    for (let piece = await this.incoming.next(); piece !== undefined; piece = await this.incoming.next()) pieces.push(piece);
    return pieces.length === 2 ? pieces[1] : concat(pieces);
  }

  clone() {
    if (this.isUsed || this.stream?.locked) throw new TypeError('Response.clone: Body has already been consumed.');
    if (this.stream === undefined && this.incoming === undefined) return new Body(this);
    const [a, b] = this.toStream().tee();
    this.stream = a;
    return new Body({ stream: b, type: this.type, length: this.length });
  }

  cancel(reason) {
    if (this.stream !== undefined && !this.stream.locked) this.stream.cancel(reason).catch(() => {});
    else this.incoming?.cancel(reason);
  }
}

const readStream = async (stream) => {
  const reader = stream.getReader();
  const pieces = [EMPTY];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(pieces);
    if (!(value instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
    pieces.push(value);
  }
};

// What `init.body` may be.
const extract = (init) => {
  if (init === undefined || init === null) return undefined;
  if (typeof init === 'string') return withBytes(host.encodeUtf8(init), 'text/plain;charset=UTF-8');
  if (isBytes(init)) return withBytes(bytesOf(init).slice());
  if (init instanceof URLSearchParams) return withBytes(host.encodeUtf8(init.toString()), 'application/x-www-form-urlencoded;charset=UTF-8');
  if (isStream(init)) {
    if (init.locked || init._disturbed) throw new TypeError('Response body object should not be disturbed or locked');
    return new Body({ stream: init });
  }
  if (isBlob(init)) return withBytes(internal.lazy('web/blob').bytesOfBlob(init), init.type || undefined);
  if (isForm(init)) {
    const { bytes, type } = internal.lazy('web/multipart').encode(init);
    return withBytes(bytes, type);
  }
  if (typeof init[Symbol.asyncIterator] === 'function') return new Body({ stream: internal.lazy('web/streams').ReadableStream.from(iterate(init)) });
  return withBytes(host.encodeUtf8(String(init)), 'text/plain;charset=UTF-8');
};

const withBytes = (bytes, type) => new Body({ bytes, type, length: bytes.length });

// Node's streams give strings as well as Buffers.
async function* iterate(source) {
  for await (const piece of source) {
    if (typeof piece === 'string') yield host.encodeUtf8(piece);
    else yield bytesOf(piece);
  }
}

const parseForm = (bytes, type) => {
  const { FormData } = internal.lazy('web/form-data');
  if (/^multipart\/form-data\b/i.test(type)) return internal.lazy('web/multipart').decode(bytes, type);
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw new TypeError('Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".');
  }
  const form = new FormData();
  for (const [name, value] of new URLSearchParams(host.decodeText('utf-8', bytes, false, false))) form.append(name, value);
  return form;
};

// Adds the methods that Request and Response share; `bodyOf(self)` gives the Body or undefined.
const mixin = (Class, bodyOf) => {
  const read = async (self, use) => use(await (bodyOf(self)?.consume() ?? EMPTY), self);
  const methods = {
    arrayBuffer: bufferOf,
    bytes: (bytes) => bytes.slice(),
    text: (bytes) => host.decodeText('utf-8', bytes, false, false),
    json: (bytes) => JSON.parse(host.decodeText('utf-8', bytes, false, false)),
    blob: (bytes, self) => new (internal.lazy('web/blob').Blob)([bytes], { type: self.headers.get('content-type') ?? '' }),
    formData: (bytes, self) => parseForm(bytes, self.headers.get('content-type') ?? ''),
  };
  for (const [name, use] of Object.entries(methods)) {
    Object.defineProperty(Class.prototype, name, {
      value: { async [name]() { return read(this, use); } }[name],
      writable: true,
      configurable: true,
      enumerable: true,
    });
  }
  Object.defineProperty(Class.prototype, 'body', { configurable: true, enumerable: true, get() { return bodyOf(this)?.toStream() ?? null; } });
  Object.defineProperty(Class.prototype, 'bodyUsed', { configurable: true, enumerable: true, get() { return bodyOf(this)?.isUsed ?? false; } });
};

return { Body, extract, mixin, isStream };
