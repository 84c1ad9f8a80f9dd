'use strict';
// The web's globals. Those that most programs use are evaluated into the base image; the others when they are first read.
internal.defineGlobal('self', globalThis);
internal.defineGlobal('global', globalThis);

const GLOBALS = {
  'web/dom-exception': ['DOMException'],
  'web/text': ['TextEncoder', 'TextDecoder', 'atob', 'btoa'],
  'web/url': ['URL', 'URLSearchParams'],
  'web/events': ['Event', 'CustomEvent', 'MessageEvent', 'EventTarget'],
  'web/abort': ['AbortController', 'AbortSignal'],
  'web/structured-clone': ['structuredClone'],
  'web/performance': ['performance', 'Performance', 'PerformanceEntry', 'PerformanceMark', 'PerformanceMeasure'],
  'web/message-channel': ['MessageChannel', 'MessagePort'],
  'web/blob': ['Blob', 'File'],
  'web/form-data': ['FormData'],
  'web/fetch': ['fetch', 'Headers', 'Request', 'Response'],
  'web/streams': [
    'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamBYOBReader', 'ReadableStreamBYOBRequest', 'ReadableByteStreamController',
    'ReadableStreamDefaultController', 'TransformStream', 'TransformStreamDefaultController', 'WritableStream', 'WritableStreamDefaultController',
    'WritableStreamDefaultWriter', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy', 'TextEncoderStream', 'TextDecoderStream',
    'CompressionStream', 'DecompressionStream',
  ],
  'web/crypto': ['crypto', 'Crypto', 'CryptoKey', 'SubtleCrypto'],
  'web/intl': ['Intl'],
  'web/websocket': ['WebSocket'],
};
for (const [part, names] of Object.entries(GLOBALS)) internal.defineLazyGlobals(part, names);

if (globalThis.Atomics === undefined) internal.defineLazyGlobals('web/atomics', ['Atomics']);

for (const part of ['web/text', 'web/url', 'web/abort', 'web/fetch']) internal.lazy(part);

// What formats for people goes through Intl, which is evaluated when one of these is first called.
const override = (prototype, methods) => {
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
};
// Engines add the name of the zone, and programs take the text apart by it; the zone of a run is always UTC.
const withZone = (write) => function () {
  const text = write.call(this);
  return text === 'Invalid Date' ? text : `${text} (Coordinated Universal Time)`;
};
const { toString, toTimeString } = Date.prototype;
override(Date.prototype, { toString: withZone(toString), toTimeString: withZone(toTimeString) });
const dates = () => internal.lazy('web/intl-date').dateToLocale;
override(Date.prototype, {
  toLocaleString(locales, options) { return dates().toLocaleString(this, locales, options); },
  toLocaleDateString(locales, options) { return dates().toLocaleDateString(this, locales, options); },
  toLocaleTimeString(locales, options) { return dates().toLocaleTimeString(this, locales, options); },
});
const formatNumber = (value, locales, options) => new (internal.lazy('web/intl-number').NumberFormat)(locales, options).format(value);
const { valueOf: valueOfNumber } = Number.prototype;
const { valueOf: valueOfBigInt } = BigInt.prototype;
override(Number.prototype, { toLocaleString(locales, options) { return formatNumber(valueOfNumber.call(this), locales, options); } });
override(BigInt.prototype, { toLocaleString(locales, options) { return formatNumber(valueOfBigInt.call(this), locales, options); } });
override(String.prototype, {
  localeCompare(other, locales, options) {
    if (this === undefined || this === null) throw new TypeError('String.prototype.localeCompare called on null or undefined');
    return new (internal.lazy('web/intl-text').Collator)(locales, options).compare(String(this), String(other));
  },
});
