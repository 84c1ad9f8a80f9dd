'use strict';
// `stream/web`: the global classes under one roof.
const exported = {};
for (const name of [
  'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableByteStreamController',
  'ReadableStreamDefaultController', 'TransformStream', 'TransformStreamDefaultController', 'WritableStream', 'WritableStreamDefaultController',
  'WritableStreamDefaultWriter', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy', 'TextEncoderStream', 'TextDecoderStream',
  'CompressionStream', 'DecompressionStream',
]) {
  Object.defineProperty(exported, name, { enumerable: true, configurable: true, get: () => globalThis[name] });
}
return exported;
