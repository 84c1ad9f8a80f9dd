'use strict';
// `buffer`: npm's Buffer, with its codecs replaced by native ones and the gaps to today's Node filled.
const { invalidArgType, unknownEncoding, outOfRange } = internal.nodeErrors;
const npm = internal.lazy('npm/buffer');
const { Buffer } = npm;

const ALIASES = {
  utf8: 'utf8', 'utf-8': 'utf8', hex: 'hex', base64: 'base64', base64url: 'base64url', ascii: 'ascii', latin1: 'latin1', binary: 'latin1',
  ucs2: 'utf16le', 'ucs-2': 'utf16le', utf16le: 'utf16le', 'utf-16le': 'utf16le',
};
const normalize = (encoding) => (encoding === undefined || encoding === null || encoding === '' ? 'utf8' : ALIASES[encoding] ?? ALIASES[String(encoding).toLowerCase()]);
const requireEncoding = (encoding) => {
  const known = normalize(encoding);
  if (known === undefined) throw unknownEncoding(encoding);
  return known;
};

// Hexadecimal digits end where the first pair is not one, as in Node.
const HEX = /^(?:[0-9a-f]{2})*/i;
const ENCODE = {
  utf8: (text) => host.encodeUtf8(internal.text(text)),
  hex: (text) => host.decodeHex(HEX.exec(text)[0]),
  base64: (text) => host.decodeBase64(text),
  base64url: (text) => host.decodeBase64(text),
  ascii: (text) => host.encodeLatin1(text),
  latin1: (text) => host.encodeLatin1(text),
  utf16le: (text) => host.encodeUtf16le(text),
};
const DECODE = {
  utf8: (bytes) => host.decodeText('utf-8', bytes, false, true),
  hex: (bytes) => host.encodeHex(bytes),
  base64: (bytes) => host.encodeBase64(bytes, false),
  base64url: (bytes) => host.encodeBase64(bytes, true),
  ascii: (bytes) => host.decodeLatin1(bytes.map((byte) => byte & 127)),
  latin1: (bytes) => host.decodeLatin1(bytes),
  utf16le: (bytes) => host.decodeUtf16le(bytes.subarray(0, bytes.length & ~1)),
};

const over = (bytes) => Object.setPrototypeOf(bytes, Buffer.prototype);
const plain = (buffer, start, end) => new Uint8Array(buffer.buffer, buffer.byteOffset + start, Math.max(0, end - start));
const clamp = (value, fallback, length) => {
  if (value === undefined) return fallback;
  const index = Math.trunc(Number(value));
  return Number.isNaN(index) || index < 0 ? 0 : Math.min(index, length);
};

const npmFrom = Buffer.from;
Buffer.from = function from(value, encodingOrOffset, length) {
  if (typeof value === 'string') return over(ENCODE[requireEncoding(typeof encodingOrOffset === 'string' ? encodingOrOffset : undefined)](value));
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') {
    throw invalidArgType('first argument', 'string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object', value);
  }
  return npmFrom(value, encodingOrOffset, length);
};
Buffer.of = (...bytes) => Buffer.from(bytes);
Buffer.isEncoding = (encoding) => typeof encoding === 'string' && encoding !== '' && normalize(encoding) !== undefined;

Buffer.byteLength = (value, encoding) => {
  if (typeof value === 'string') {
    switch (normalize(encoding)) {
      case 'ascii': case 'latin1': return value.length;
      case 'utf16le': return value.length * 2;
      case 'hex': return value.length >>> 1;
      case 'base64': case 'base64url': return Math.floor((value.replace(/=+$/, '').length * 3) / 4);
      default: return ENCODE.utf8(value).length;
    }
  }
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  throw invalidArgType('string', ['string', 'an instance of Buffer', 'ArrayBuffer'], value);
};

for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow']) {
  const allocate = Buffer[name];
  Buffer[name] = (size, fill, encoding) => {
    if (typeof size !== 'number') throw invalidArgType('size', 'number', size);
    if (!(size >= 0 && size <= npm.kMaxLength)) throw outOfRange('size', `>= 0 && <= ${npm.kMaxLength}`, size);
    if (name !== 'alloc' || fill === undefined || fill === 0) return allocate(size);
    return over(new Uint8Array(size)).fill(fill, encoding);
  };
}

Buffer.copyBytesFrom = (view, offset = 0, length = view.length - offset) => {
  const part = view.subarray(offset, offset + length);
  return Buffer.from(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
};

const methods = Buffer.prototype;

methods.toString = function toString(encoding, start, end) {
  const from = clamp(start, 0, this.length);
  const to = clamp(end, this.length, this.length);
  return to <= from ? '' : DECODE[requireEncoding(encoding)](plain(this, from, to));
};
methods.toLocaleString = methods.toString;

const wholeCharacters = (bytes, limit) => {
  let end = limit;
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end -= 1;
  return end;
};

methods.write = function write(text, offset, length, encoding) {
  if (typeof text !== 'string') throw invalidArgType('argument', 'string', text);
  if (typeof offset === 'string') return this.write(text, 0, this.length, offset);
  if (typeof length === 'string') return this.write(text, offset, undefined, length);
  const start = offset === undefined ? 0 : Number(offset);
  if (!(start >= 0 && start <= this.length)) throw outOfRange('offset', `>= 0 && <= ${this.length}`, offset);
  const kind = requireEncoding(encoding);
  const bytes = ENCODE[kind](text);
  let room = Math.min(this.length - start, length === undefined ? Infinity : Number(length));
  if (bytes.length <= room) room = bytes.length;
  else if (kind === 'utf8') room = wholeCharacters(bytes, room);
  else if (kind === 'utf16le') room &= ~1;
  plain(this, start, start + room).set(bytes.length === room ? bytes : bytes.subarray(0, room));
  return room;
};

const npmFill = methods.fill;
methods.fill = function fill(value, start, end, encoding) {
  const kind = typeof start === 'string' ? start : typeof end === 'string' ? end : encoding;
  const from = typeof start === 'string' ? undefined : start;
  const to = typeof end === 'string' ? undefined : end;
  if (typeof value !== 'string') return npmFill.call(this, value, from, to);
  const bytes = Buffer.from(value, kind);
  return bytes.length === 0 ? npmFill.call(this, 0, from, to) : npmFill.call(this, bytes, from, to);
};

// Parsers such as busboy reach for the codecs directly.
for (const [name, encoding] of Object.entries({ ascii: 'ascii', base64: 'base64', base64url: 'base64url', latin1: 'latin1', hex: 'hex', ucs2: 'utf16le', utf8: 'utf8' })) {
  const define = (key, value) => Object.defineProperty(methods, key, { value, writable: true, configurable: true });
  define(`${name}Slice`, function (start, end) { return this.toString(encoding, start, end); });
  define(`${name}Write`, function (text, offset, length) { return this.write(text, offset, length, encoding); });
}

// Both spellings, as for the numbers that are no BigInt.
for (const name of ['readBigUInt64LE', 'readBigUInt64BE', 'writeBigUInt64LE', 'writeBigUInt64BE']) {
  Object.defineProperty(methods, name.replace('UInt', 'Uint'), { value: methods[name], writable: true, configurable: true });
}
// Packages ask for it to find out whether this is Node.
delete Buffer.TYPED_ARRAY_SUPPORT;

// What is empty is found wherever the search begins.
const isEmpty = (value) => value === '' || (value instanceof Uint8Array && value.length === 0);
const startOf = (buffer, offset, fallback) => {
  const start = Number(offset ?? fallback);
  return Math.min(buffer.length, Math.max(0, start < 0 ? start + buffer.length : start));
};
const { indexOf: npmIndexOf, lastIndexOf: npmLastIndexOf } = methods;
methods.indexOf = function indexOf(value, offset, encoding) {
  return isEmpty(value) ? startOf(this, typeof offset === 'string' ? 0 : offset, 0) : npmIndexOf.call(this, value, offset, encoding);
};
methods.lastIndexOf = function lastIndexOf(value, offset, encoding) {
  return isEmpty(value) ? startOf(this, typeof offset === 'string' ? undefined : offset, this.length) : npmLastIndexOf.call(this, value, offset, encoding);
};
methods.includes = function includes(value, offset, encoding) { return this.indexOf(value, offset, encoding) !== -1; };

const transcode = (source, from, to) => Buffer.from(Buffer.from(source).toString(from), to);
const isUtf8 = (bytes) => {
  try {
    host.decodeText('utf-8', internal.bytesOf(bytes), true, true);
    return true;
  } catch {
    return false;
  }
};

internal.Buffer = Buffer;

return {
  Buffer,
  SlowBuffer: npm.SlowBuffer,
  INSPECT_MAX_BYTES: 50,
  kMaxLength: npm.kMaxLength,
  kStringMaxLength: 2 ** 29 - 24,
  constants: { MAX_LENGTH: npm.kMaxLength, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  transcode,
  isUtf8,
  isAscii: (bytes) => internal.bytesOf(bytes).every((byte) => byte < 128),
  resolveObjectURL: () => undefined,
  // Getters, so that loading Buffer does not load the web's classes.
  get atob() { return globalThis.atob; },
  get btoa() { return globalThis.btoa; },
  get Blob() { return globalThis.Blob; },
  get File() { return globalThis.File; },
};
