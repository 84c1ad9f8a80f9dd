'use strict';
// `stream`: readable-stream, plus what came to Node since.
const stream = internal.lazy('npm/readable-stream');
const { Readable, Writable, Duplex } = stream;
const web = () => internal.lazy('node/stream-adapters');

// Node's own classes know each other by more than their constructor; packages rely on both names.
stream.Stream = stream;
stream.getDefaultHighWaterMark ??= (isObjectMode) => (isObjectMode ? 16 : 64 * 1024);
stream.setDefaultHighWaterMark ??= () => {};
stream.isDestroyed ??= (one) => one.destroyed === true;

Readable.fromWeb = (readable, options) => web().readableFromWeb(readable, options);
Readable.toWeb = (readable) => web().readableToWeb(readable);
Writable.fromWeb = (writable, options) => web().writableFromWeb(writable, options);
Writable.toWeb = (writable) => web().writableToWeb(writable);
Duplex.toWeb = (duplex) => ({ readable: Readable.toWeb(duplex), writable: Writable.toWeb(duplex) });
Duplex.fromWeb = (pair, options) => Duplex.from({ readable: Readable.fromWeb(pair.readable, options), writable: Writable.fromWeb(pair.writable, options) });

Object.defineProperty(stream, 'promises', { value: stream.promises, enumerable: true, configurable: true });
return stream;
