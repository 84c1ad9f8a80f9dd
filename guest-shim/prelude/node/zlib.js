'use strict';
// `zlib`, whole bodies and streams.
const LazyTransform = internal.lazy('node/lazy-transform');
const { codedError } = internal;
const { invalidArgType, outOfRange } = internal.nodeErrors;

const constants = {
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1,
  Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, ZLIB_VERNUM: 4880, DEFLATE: 1, INFLATE: 2, GZIP: 3,
  GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7, BROTLI_DECODE: 8, BROTLI_ENCODE: 9, Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15,
  Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384, Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9,
  Z_DEFAULT_LEVEL: -1, BROTLI_OPERATION_PROCESS: 0, BROTLI_OPERATION_FLUSH: 1, BROTLI_OPERATION_FINISH: 2, BROTLI_OPERATION_EMIT_METADATA: 3, BROTLI_PARAM_MODE: 0,
  BROTLI_MODE_GENERIC: 0, BROTLI_MODE_TEXT: 1, BROTLI_MODE_FONT: 2, BROTLI_PARAM_QUALITY: 1, BROTLI_MIN_QUALITY: 0, BROTLI_MAX_QUALITY: 11, BROTLI_DEFAULT_QUALITY: 11,
  BROTLI_PARAM_LGWIN: 2, BROTLI_MIN_WINDOW_BITS: 10, BROTLI_MAX_WINDOW_BITS: 24, BROTLI_DEFAULT_WINDOW: 22, BROTLI_PARAM_SIZE_HINT: 5,
};
const codes = Object.fromEntries(['Z_OK', 'Z_STREAM_END', 'Z_NEED_DICT', 'Z_ERRNO', 'Z_STREAM_ERROR', 'Z_DATA_ERROR', 'Z_MEM_ERROR', 'Z_BUF_ERROR', 'Z_VERSION_ERROR'].flatMap((name) => [[name, constants[name]], [String(constants[name]), name]]));

// Brotli at its default quality of 11 takes seconds of fuel for what 6 does in milliseconds.
const BROTLI_QUALITY = 6;
const levelOf = (format, options) => {
  if (format === 'brotli') return options?.params?.[constants.BROTLI_PARAM_QUALITY] ?? BROTLI_QUALITY;
  const level = options?.level ?? constants.Z_DEFAULT_COMPRESSION;
  if (!(level >= -1 && level <= 9)) throw outOfRange('options.level', '>= -1 and <= 9', level);
  return level;
};

const failure = (error) => {
  if (error.code === undefined || !(error.code in constants)) return error;
  return Object.assign(codedError(error.code, error.message), { errno: constants[error.code] });
};

// With a flush at the end instead of a finish, a truncated body gives what it holds instead of an error.
const isPatient = (format, options) => (format === 'brotli' ? options?.finishFlush === constants.BROTLI_OPERATION_FLUSH : options?.finishFlush === constants.Z_SYNC_FLUSH);

// One body on its way through. `unzip` finds out what it expands from the first byte.
class Coder {
  #kind; #options; #machine;
  #length = 0;
  constructor(kind, options) {
    this.#kind = kind;
    this.#options = options;
    this.#level = levelOf(kind.format, options);
  }
  #level;
  #start(bytes) {
    const { format, isCompress } = this.#kind;
    const named = format === 'unzip' ? (bytes[0] === 0x1f ? 'gzip' : 'zlib') : format;
    return host.coderStart(named, isCompress, this.#level);
  }
  #give(work) {
    let bytes;
    try {
      bytes = work();
    } catch (error) {
      throw failure(error);
    }
    this.#length += bytes.length;
    const most = this.#options?.maxOutputLength;
    if (most !== undefined && this.#length > most) throw codedError('ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${most} bytes`, RangeError);
    return internal.bufferOver(bytes);
  }
  update(bytes) {
    if (bytes.length === 0) return internal.bufferOver(new Uint8Array(0));
    this.#machine ??= this.#start(bytes);
    return this.#give(() => host.machineUpdate(this.#machine, bytes));
  }
  flush() { return this.#machine === undefined ? internal.bufferOver(new Uint8Array(0)) : this.#give(() => host.machineFlush(this.#machine)); }
  get isStarted() { return this.#machine !== undefined; }
  finish() {
    this.#machine ??= this.#start([]);
    try {
      return this.#give(() => host.machineFinish(this.#machine, null));
    } catch (error) {
      if (error.code === 'Z_BUF_ERROR' && isPatient(this.#kind.format, this.#options)) return this.flush();
      throw error;
    }
  }
}

const convert = (kind, bytes, options) => {
  const coder = new Coder(kind, options);
  return internal.Buffer.concat([coder.update(bytes), coder.finish()]);
};

const inputOf = (data) => {
  if (typeof data === 'string' || ArrayBuffer.isView(data) || data instanceof ArrayBuffer) return internal.bytesOf(data);
  throw invalidArgType('buffer', ['string', 'an instance of Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], data);
};

class Zlib extends LazyTransform {
  #kind;
  #options;
  #coder;
  // A chunk that stands for a flush, behind what was written before it.
  #flush = internal.Buffer.alloc(0);
  constructor(kind, options) {
    super(options);
    this.#kind = kind;
    this.#options = options;
    this.#coder = new Coder(kind, options);
    this.bytesWritten = 0;
  }
  #give(work, callback) {
    try {
      const bytes = work();
      if (bytes.length > 0) this.push(bytes);
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
  _transform(chunk, encoding, callback) {
    const bytes = typeof chunk === 'string' ? internal.Buffer.from(chunk, encoding) : chunk;
    this.bytesWritten += bytes.length;
    this.#give(() => (chunk === this.#flush ? this.#coder.flush() : this.#coder.update(bytes)), callback);
  }
  _flush(callback) {
    // An expander that was given nothing has nothing to say, as Node's.
    if (!this.#kind.isCompress && !this.#coder.isStarted) callback();
    else this.#give(() => this.#coder.finish(), callback);
  }
  flush(kind, callback) {
    const done = typeof kind === 'function' ? kind : callback;
    if (this.writableEnded) {
      if (done) internal.process.nextTick(done);
    } else this.write(this.#flush, done);
  }
  params(level, strategy, callback) { internal.process.nextTick(callback); }
  reset() { this.#coder = new Coder(this.#kind, this.#options); }
  close(callback) {
    if (callback) this.once('close', callback);
    this.destroy();
  }
}

const KINDS = {
  Deflate: { format: 'zlib', isCompress: true },
  Inflate: { format: 'zlib', isCompress: false },
  Gzip: { format: 'gzip', isCompress: true },
  Gunzip: { format: 'gzip', isCompress: false },
  DeflateRaw: { format: 'deflate-raw', isCompress: true },
  InflateRaw: { format: 'deflate-raw', isCompress: false },
  Unzip: { format: 'unzip', isCompress: false },
  BrotliCompress: { format: 'brotli', isCompress: true },
  BrotliDecompress: { format: 'brotli', isCompress: false },
};

const zlib = { constants, codes, ...constants };
for (const [name, kind] of Object.entries(KINDS)) {
  const method = name[0].toLowerCase() + name.slice(1);
  const Class = function (options) {
    if (!new.target) return new Class(options);
    return Reflect.construct(Zlib, [kind, options], new.target);
  };
  Class.prototype = Object.create(Zlib.prototype, { constructor: { value: Class, writable: true, configurable: true } });
  Object.defineProperty(Class, 'name', { value: name });
  zlib[name] = Class;
  zlib[`create${name}`] = (options) => new Class(options);
  zlib[`${method}Sync`] = (data, options) => convert(kind, inputOf(data), options);
  zlib[method] = (data, options, callback) => {
    const [settings, done] = typeof options === 'function' ? [undefined, options] : [options, callback];
    const bytes = inputOf(data);
    internal.later(done, () => convert(kind, bytes, settings));
  };
}

// Node has Zstandard too. Libraries look for it and do without.
for (const name of ['createZstdCompress', 'createZstdDecompress', 'zstdCompress', 'zstdCompressSync', 'zstdDecompress', 'zstdDecompressSync']) {
  zlib[name] = internal.unavailable(`zlib.${name}`, 'use gzip or brotli');
}

let table;
zlib.crc32 = (data, start = 0) => {
  table ??= Uint32Array.from({ length: 256 }, (unused, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c;
  });
  let crc = ~start;
  for (const byte of internal.bytesOf(data)) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
};
return zlib;
