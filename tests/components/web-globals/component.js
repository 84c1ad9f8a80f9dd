// The names programs look for are there.
module.exports = {
  name: 'web-globals',
  version: '1.0.0',
  type: 'action',
  async run() {
    const names = ['globalThis', 'self', 'global', 'URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', 'atob', 'btoa', 'structuredClone', 'performance', 'crypto', 'Event', 'EventTarget', 'CustomEvent', 'MessageChannel', 'AbortController', 'AbortSignal', 'DOMException', 'fetch', 'Headers', 'Request', 'Response', 'FormData', 'Blob', 'File', 'ReadableStream', 'WritableStream', 'TransformStream', 'CompressionStream', 'TextDecoderStream', 'Intl', 'queueMicrotask', 'setTimeout', 'WeakRef'];
    return [names.filter((name) => globalThis[name] === undefined), globalThis === global, Object.keys(globalThis).includes('URL'), typeof internal, typeof host];
  },
};
