'use strict';
// Streams over files.
const { Readable, Writable } = internal.builtin('stream').exports;
const { byName } = internal.lazy('node/fs-operations');
const { toPath } = internal.lazy('node/fs-tree');
const optionsOf = (options) => (typeof options === 'string' ? { encoding: options } : options ?? {});

// Opens in the next tick, so that a listener for 'error' can be added first.
const openSoon = (stream, flags, mode, callback) => {
  if (stream.fd !== null) {
    callback();
    return;
  }
  try {
    stream.fd = byName.open(stream.path, flags, mode);
  } catch (error) {
    callback(error);
    return;
  }
  callback();
  stream.emit('open', stream.fd);
  stream.emit('ready');
};
const closeOnce = (stream) => {
  if (typeof stream.fd === 'number' && stream.autoClose) byName.close(stream.fd);
  stream.fd = null;
};

class ReadStream extends Readable {
  constructor(path, given) {
    const options = optionsOf(given);
    super({ highWaterMark: 64 * 1024, encoding: options.encoding, signal: options.signal, emitClose: options.emitClose });
    Object.assign(this, { path: options.fd === undefined ? toPath(path) : undefined, fd: options.fd ?? null, flags: options.flags ?? 'r', bytesRead: 0, autoClose: options.autoClose ?? true });
    this.position = options.start;
    this.end = options.end ?? Infinity;
    this.mode = options.mode;
  }
  get pending() { return this.fd === null; }
  _construct(callback) { openSoon(this, this.flags, this.mode, callback); }
  _read(size) {
    const left = this.end - (this.position ?? this.bytesRead) + 1;
    const chunk = internal.Buffer.alloc(Math.max(0, Math.min(size, left)));
    let count = 0;
    try {
      if (chunk.length > 0) count = byName.read(this.fd, chunk, 0, chunk.length, this.position ?? null);
    } catch (error) {
      this.destroy(error);
      return;
    }
    if (this.position !== undefined) this.position += count;
    this.bytesRead += count;
    this.push(count === 0 ? null : chunk.subarray(0, count));
  }
  _destroy(error, callback) {
    closeOnce(this);
    callback(error);
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.destroy();
  }
}

class WriteStream extends Writable {
  constructor(path, given) {
    const options = optionsOf(given);
    super({ decodeStrings: true, defaultEncoding: options.encoding, signal: options.signal, highWaterMark: options.highWaterMark, emitClose: options.emitClose });
    Object.assign(this, { path: options.fd === undefined ? toPath(path) : undefined, fd: options.fd ?? null, flags: options.flags ?? 'w', bytesWritten: 0, autoClose: options.autoClose ?? true });
    this.position = options.start;
    this.mode = options.mode;
  }
  get pending() { return this.fd === null; }
  _construct(callback) { openSoon(this, this.flags, this.mode, callback); }
  _write(chunk, encoding, callback) {
    try {
      const count = byName.write(this.fd, chunk, 0, chunk.length, this.position ?? null);
      if (this.position !== undefined) this.position += count;
      this.bytesWritten += count;
    } catch (error) {
      callback(error);
      return;
    }
    callback();
  }
  _destroy(error, callback) {
    closeOnce(this);
    callback(error);
  }
  close(callback) {
    if (callback) this.once('close', callback);
    this.end();
  }
}

return { ReadStream, WriteStream };
