'use strict';
// `fs` and `fs/promises`, over a tree in memory. Only /tmp can be written, and it lasts as long as the run.
const { constants, byName, exists } = internal.lazy('node/fs-operations');
const { Stats, Dirent } = internal.lazy('node/fs-stats');
const { requireFunction, unavailable } = internal.nodeErrors;
const { later } = internal;

class FileHandle {
  constructor(fd) { this.fd = fd; }
  async read(buffer, ...rest) {
    if (!ArrayBuffer.isView(buffer)) {
      const options = { buffer: internal.Buffer.alloc(16384), ...buffer };
      return { bytesRead: byName.read(this.fd, options.buffer, options), buffer: options.buffer };
    }
    return { bytesRead: byName.read(this.fd, buffer, ...rest), buffer };
  }
  async write(buffer, ...rest) { return { bytesWritten: byName.write(this.fd, buffer, ...rest), buffer }; }
  async readFile(options) { return byName.readFile(this.fd, options); }
  async writeFile(data, options) { return byName.writeFile(this.fd, data, options); }
  async appendFile(data, options) { return byName.writeFile(this.fd, data, options); }
  async stat(options) { return byName.fstat(this.fd, options); }
  async truncate(length) { return byName.truncate(this.fd, length); }
  async sync() {}
  async datasync() {}
  async chmod(mode) { byName.chmod(this.fd, mode); }
  async utimes(atime, mtime) { byName.utimes(this.fd, atime, mtime); }
  async close() {
    if (this.fd >= 0) byName.close(this.fd);
    this.fd = -1;
  }
  createReadStream(options) { return fs.createReadStream(undefined, { ...options, fd: this.fd }); }
  createWriteStream(options) { return fs.createWriteStream(undefined, { ...options, fd: this.fd }); }
  async *readLines() { yield* String(byName.readFile(this.fd)).split(/\r?\n/); }
  async [Symbol.asyncDispose ?? Symbol.for('asyncDispose')]() { await this.close(); }
}

class Dir {
  #entries;
  constructor(path) {
    this.path = path;
    this.#entries = byName.readdir(path, { withFileTypes: true });
  }
  async read() { return this.#entries.shift() ?? null; }
  readSync() { return this.#entries.shift() ?? null; }
  async close() {}
  closeSync() {}
  async *[Symbol.asyncIterator]() { while (this.#entries.length > 0) yield this.#entries.shift(); }
}
byName.opendir = (path) => new Dir(path);

const fs = { constants, Stats, Dirent, Dir };
Object.assign(fs, { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 });
const promises = { constants };

const NO_PROMISE = new Set(['close', 'read', 'write', 'fstat', 'fsync', 'fdatasync', 'ftruncate', 'fchmod', 'fchown', 'futimes']);
for (const [name, operation] of Object.entries(byName)) {
  fs[`${name}Sync`] = (...args) => operation(...args);
  // What Node's stat, read and the like do between call and callback is nothing here, but callers rely on "later".
  fs[name] = (...args) => {
    const callback = requireFunction(args.pop(), 'cb');
    later(callback, () => operation(...args));
  };
  if (!NO_PROMISE.has(name)) promises[name] = async (...args) => operation(...args);
}

// Two results: how much, and the buffer.
const PROMISIFY = Symbol.for('nodejs.util.promisify.custom');
const withBuffer = (name, count) => {
  const operation = byName[name];
  fs[name] = (fd, buffer, ...rest) => {
    const callback = requireFunction(rest.pop(), 'cb');
    later((error, done) => callback(error, done, buffer), () => operation(fd, buffer, ...rest));
  };
  fs[name][PROMISIFY] = async (fd, buffer, ...rest) => ({ [count]: operation(fd, buffer, ...rest), buffer });
};
withBuffer('read', 'bytesRead');
withBuffer('write', 'bytesWritten');

fs.existsSync = exists;
fs.exists = (path, callback) => internal.process.nextTick(callback, exists(path));
fs.exists[PROMISIFY] = async (path) => exists(path);
fs.writevSync = (fd, buffers, position) => buffers.reduce((sum, buffer) => sum + byName.write(fd, buffer, 0, buffer.length, typeof position === 'number' ? position + sum : null), 0);
fs.readvSync = (fd, buffers, position) => buffers.reduce((sum, buffer) => sum + byName.read(fd, buffer, 0, buffer.length, typeof position === 'number' ? position + sum : null), 0);
fs.realpath.native = fs.realpath;
fs.realpathSync.native = fs.realpathSync;
promises.open = async (...args) => new FileHandle(byName.open(...args));
promises.FileHandle = FileHandle;

for (const name of ['ReadStream', 'WriteStream']) {
  // Writable, because graceful-fs and others put their own in its place.
  Object.defineProperty(fs, name, {
    enumerable: true,
    configurable: true,
    get: () => internal.lazy('node/fs-streams')[name],
    set: (value) => { Object.defineProperty(fs, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
  fs[`create${name}`] = (path, options) => new (internal.lazy('node/fs-streams')[name])(path, options);
}
for (const name of ['watch', 'watchFile', 'unwatchFile']) fs[name] = () => { throw unavailable(`fs.${name}`); };
promises.watch = fs.watch;

fs.promises = promises;
return fs;
