'use strict';
// Bytes in their many wrappings.
const { isView } = ArrayBuffer;
const { ArrayBuffer: Buffer, Uint8Array: Bytes } = globalThis;
const Shared = globalThis.SharedArrayBuffer;

const isBuffer = (value) => value instanceof Buffer || (Shared !== undefined && value instanceof Shared)
  || (typeof value === 'object' && value !== null && /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value)));

const isBytes = (value) => isView(value) || isBuffer(value);

// A view of the bytes of a buffer or of any view of one.
const bytesOf = (value, message = 'The argument must be an ArrayBuffer or a view of one.') => {
  if (isView(value)) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
  if (isBuffer(value)) return new Bytes(value);
  throw internal.codedError('ERR_INVALID_ARG_TYPE', message, TypeError);
};

const concat = (pieces) => {
  if (pieces.length === 1) return pieces[0];
  const whole = new Bytes(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
};

// A plain ArrayBuffer of exactly these bytes, a copy.
const bufferOf = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

return { isBytes, isBuffer, bytesOf, concat, bufferOf };
