'use strict';
// What bundled npm packages get when they require each other or a global.
const shared = {
  buffer: () => internal.lazy('node/buffer'),
  'safe-buffer': () => internal.lazy('node/buffer'),
  events: () => internal.builtin('events').exports,
  'process/': () => internal.process,
  'string_decoder/': () => internal.builtin('string_decoder').exports,
  'abort-controller': () => ({ AbortController: globalThis.AbortController, AbortSignal: globalThis.AbortSignal }),
  util: () => internal.builtin('util').exports,
};
internal.npmRequire = (name) => shared[name]();
