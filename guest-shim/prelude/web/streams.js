'use strict';
// The streams of the web: the classes of npm's web-streams-polyfill, and the transforms made with them.
const streams = internal.lazy('npm/web-streams-polyfill');
const { bytesOf } = internal.lazy('web/bytes');
const { TextDecoder } = internal.lazy('web/text');
const { ReadableStream, TransformStream } = streams;

const STREAM_NAMES = [
  'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableByteStreamController',
  'ReadableStreamDefaultController', 'TransformStream', 'TransformStreamDefaultController', 'WritableStream', 'WritableStreamDefaultController',
  'WritableStreamDefaultWriter', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy',
];

// A class over one TransformStream.
class Transform {
  #transform;
  constructor(transformer) { this.#transform = new TransformStream(transformer); }
  get readable() { return this.#transform.readable; }
  get writable() { return this.#transform.writable; }
}

class TextEncoderStream extends Transform {
  constructor() {
    let pending = '';
    super({
      transform(chunk, controller) {
        let text = pending + String(chunk);
        pending = '';
        // The first half of a pair waits for the other.
        if (/[\ud800-\udbff]$/.test(text)) {
          pending = text.slice(-1);
          text = text.slice(0, -1);
        }
        if (text !== '') controller.enqueue(host.encodeUtf8(text));
      },
      flush(controller) { if (pending !== '') controller.enqueue(host.encodeUtf8(pending)); },
    });
  }
  get encoding() { return 'utf-8'; }
  get [Symbol.toStringTag]() { return 'TextEncoderStream'; }
}

class TextDecoderStream extends Transform {
  #decoder;
  constructor(label = 'utf-8', options = {}) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text !== '') controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== '') controller.enqueue(text);
      },
    });
    this.#decoder = decoder;
  }
  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#decoder.fatal; }
  get ignoreBOM() { return this.#decoder.ignoreBOM; }
  get [Symbol.toStringTag]() { return 'TextDecoderStream'; }
}

class Coder extends Transform {
  constructor(format, isCompress) {
    const name = String(format);
    if (!['gzip', 'deflate', 'deflate-raw', 'brotli'].includes(name)) {
      throw internal.codedError('ERR_INVALID_ARG_VALUE', `The argument 'format' must be one of: 'deflate', 'deflate-raw', 'gzip'. Received '${name}'`, TypeError);
    }
    const machine = host.coderStart(name, isCompress, -1);
    const give = (controller, work) => {
      let bytes;
      try {
        bytes = work();
      } catch (error) {
        throw internal.codedError(error.code, error.message, TypeError);
      }
      if (bytes.length > 0) controller.enqueue(bytes);
    };
    super({
      transform(chunk, controller) { give(controller, () => host.machineUpdate(machine, bytesOf(chunk))); },
      flush(controller) { give(controller, () => host.machineFinish(machine, null)); },
    });
  }
}
class CompressionStream extends Coder {
  constructor(format) { super(format, true); }
  get [Symbol.toStringTag]() { return 'CompressionStream'; }
}
class DecompressionStream extends Coder {
  constructor(format) { super(format, false); }
  get [Symbol.toStringTag]() { return 'DecompressionStream'; }
}

const exported = { TextEncoderStream, TextDecoderStream, CompressionStream, DecompressionStream };
for (const name of STREAM_NAMES) exported[name] = streams[name];
exported.isReadableStream = (value) => value instanceof ReadableStream;
return exported;
