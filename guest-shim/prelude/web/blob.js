'use strict';
// Blob and File.
const { isBytes, bytesOf, concat, bufferOf } = internal.lazy('web/bytes');

const EMPTY = new Uint8Array(0);

const pieceOf = (part) => {
  if (part instanceof Blob) return bytesOfBlob(part);
  // Copied: the blob must not change when its parts do.
  if (isBytes(part)) return bytesOf(part).slice();
  return host.encodeUtf8(String(part));
};

const normalType = (type) => (/[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase());

class Blob {
  #bytes;
  #type;

  constructor(parts = [], options = {}) {
    if (typeof parts !== 'object' || parts === null || typeof parts[Symbol.iterator] !== 'function') {
      throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "sources" argument must be an instance of Iterable.', TypeError);
    }
    this.#bytes = concat([EMPTY, ...[...parts].map(pieceOf)]);
    this.#type = normalType(String(options?.type ?? ''));
  }

  static bytes(blob) { return blob.#bytes; }
  static over(bytes, type) {
    const blob = new Blob();
    blob.#bytes = bytes;
    blob.#type = normalType(type);
    return blob;
  }

  get size() { return this.#bytes.length; }
  get type() { return this.#type; }

  slice(start = 0, end = this.size, type = '') {
    return ofBytes(this.#bytes.subarray(...[start, end].map((at) => Math.trunc(Number(at)) || 0)), String(type));
  }

  async text() { return host.decodeText('utf-8', this.#bytes, false, false); }
  async arrayBuffer() { return bufferOf(this.#bytes); }
  async bytes() { return this.#bytes.slice(); }

  stream() {
    const bytes = this.#bytes;
    const { ReadableStream } = internal.lazy('web/streams');
    return new ReadableStream({
      type: 'bytes',
      start(controller) {
        if (bytes.length > 0) controller.enqueue(bytes.slice());
        controller.close();
      },
    });
  }

  get [Symbol.toStringTag]() { return 'Blob'; }
  [internal.inspect.custom]() { return `Blob { size: ${this.size}, type: '${this.type}' }`; }
}
const { bytes: bytesOfBlob, over: ofBytes } = Blob;
delete Blob.bytes;
delete Blob.over;

class File extends Blob {
  #name;
  #lastModified;

  constructor(parts, name, options = {}) {
    if (arguments.length < 2) throw internal.codedError('ERR_MISSING_ARGS', 'The "fileBits" and "fileName" arguments must be specified', TypeError);
    super(parts, options);
    this.#name = internal.text(name);
    this.#lastModified = options?.lastModified === undefined ? Math.trunc(host.now()) : Math.trunc(Number(options.lastModified)) || 0;
  }

  get name() { return this.#name; }
  get lastModified() { return this.#lastModified; }
  get webkitRelativePath() { return ''; }
  get [Symbol.toStringTag]() { return 'File'; }
  [internal.inspect.custom]() { return `File { size: ${this.size}, type: '${this.type}', name: '${this.#name}', lastModified: ${this.#lastModified} }`; }
}
internal.makeEnumerable(Blob.prototype);

return { Blob, File, bytesOfBlob };
