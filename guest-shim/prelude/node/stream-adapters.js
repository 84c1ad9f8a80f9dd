'use strict';
// Between Node's streams and the web's.
const { Readable, Writable, finished } = internal.builtin('stream').exports;

const readableFromWeb = (source, options) => {
  const reader = source.getReader();
  return new Readable({
    ...options,
    read() {
      reader.read().then(
        ({ value, done }) => this.push(done ? null : value),
        (error) => this.destroy(error),
      );
    },
    destroy(error, callback) {
      reader.cancel(error).then(() => callback(error), () => callback(error));
    },
  });
};

const readableToWeb = (source) => new globalThis.ReadableStream({
  start(controller) {
    source.pause();
    source.on('data', (chunk) => {
      controller.enqueue(chunk instanceof Uint8Array ? new Uint8Array(chunk) : chunk);
      if (controller.desiredSize <= 0) source.pause();
    });
    finished(source, { writable: false }, (error) => {
      if (error) controller.error(error);
      else controller.close();
    });
  },
  pull() { source.resume(); },
  cancel(reason) { source.destroy(reason); },
});

const writableFromWeb = (target, options) => {
  const writer = target.getWriter();
  return new Writable({
    ...options,
    write(chunk, encoding, callback) { writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback); },
    final(callback) { writer.close().then(() => callback(), callback); },
    destroy(error, callback) {
      if (error) writer.abort(error).then(() => callback(error), () => callback(error));
      else callback();
    },
  });
};

const writableToWeb = (target) => new globalThis.WritableStream({
  write: (chunk) => new Promise((resolve, reject) => { target.write(chunk, (error) => (error ? reject(error) : resolve())); }),
  close: () => new Promise((resolve) => { target.end(resolve); }),
  abort: (reason) => { target.destroy(reason); },
});

return { readableFromWeb, readableToWeb, writableFromWeb, writableToWeb };
