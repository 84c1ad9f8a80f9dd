'use strict';
// `util`.
const { requireFunction } = internal.nodeErrors;
const types = internal.lazy('node/util-types');
const { AbortController } = internal.lazy('web/abort');
const CUSTOM_PROMISIFY = Symbol.for('nodejs.util.promisify.custom');
const ESCAPES = /[\u001B\u009B][[\]()#;?]*(?:(?:(?:[-a-zA-Z\d/#&.:=?%@~_]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?\u0007)|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;

const promisify = (original) => {
  requireFunction(original, 'original');
  if (original[CUSTOM_PROMISIFY] !== undefined) return requireFunction(original[CUSTOM_PROMISIFY], 'util.promisify.custom');
  const promisified = function (...args) {
    return new Promise((resolve, reject) => {
      original.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value)));
    });
  };
  Object.setPrototypeOf(promisified, Object.getPrototypeOf(original));
  return Object.defineProperties(promisified, Object.getOwnPropertyDescriptors(original));
};
promisify.custom = CUSTOM_PROMISIFY;

// setTimeout and setImmediate take their callback first, so they say themselves how to be promised.
const { setTimeout, setImmediate } = internal.timerFunctions;
const customize = (fn, value) => Object.defineProperty(fn, CUSTOM_PROMISIFY, { value, configurable: true });
customize(setTimeout, (delay, value) => new Promise((resolve) => { setTimeout(resolve, delay, value); }));
customize(setImmediate, (value) => new Promise((resolve) => { setImmediate(resolve, value); }));

const callbackify = (original) => {
  requireFunction(original, 'original');
  return function (...args) {
    const callback = requireFunction(args.pop(), 'last argument');
    const { nextTick } = internal.process;
    Promise.resolve(original.apply(this, args)).then(
      (value) => nextTick(callback, null, value),
      (error) => nextTick(callback, error || Object.assign(new Error('Promise was rejected with falsy value'), { code: 'ERR_FALSY_VALUE_REJECTION', reason: error })),
    );
  };
};

const deprecate = (fn, message, code) => {
  let isWarned = false;
  const deprecated = function (...args) {
    if (!isWarned && !internal.process.noDeprecation) {
      isWarned = true;
      internal.process.emitWarning(message, 'DeprecationWarning', code);
    }
    return new.target ? Reflect.construct(fn, args, new.target === deprecated ? fn : new.target) : fn.apply(this, args);
  };
  Object.setPrototypeOf(deprecated, fn);
  if (fn.prototype) deprecated.prototype = fn.prototype;
  return deprecated;
};

const inherits = (constructor, parent) => {
  requireFunction(constructor, 'ctor');
  requireFunction(parent, 'superCtor');
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
};

const debuglog = (section, onEnabled) => {
  const isEnabled = new RegExp(`(^|,)${String(section)}(,|$)`, 'i').test(internal.process.env.NODE_DEBUG ?? '');
  const log = (...values) => { if (isEnabled) internal.logLine('debug', `${String(section).toUpperCase()} ${internal.process.pid}: ${internal.format(...values)}`); };
  Object.defineProperty(log, 'enabled', { get: () => isEnabled });
  if (typeof onEnabled === 'function') onEnabled(log);
  return log;
};

const STYLES = {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29],
  black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39],
};
// A log has no colours, so text is styled only with `validateStream: false`, as Node does where there is no terminal.
const styleText = (format, text, { validateStream = true } = {}) => [format].flat().reduceRight((shown, name) => {
  const style = STYLES[name];
  if (style === undefined) throw internal.nodeErrors.invalidArgValue('format', name, 'is not a known style');
  return validateStream ? shown : `\u001b[${style[0]}m${shown}\u001b[${style[1]}m`;
}, text);

internal.inspect.colors ??= STYLES;
internal.inspect.styles ??= {};

const aborted = (signal) => new Promise((resolve) => {
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
});

const SIGNALS = { EPERM: -1, ENOENT: -2, EACCES: -13, EEXIST: -17, ENOTDIR: -20, EISDIR: -21, EINVAL: -22, ECONNREFUSED: -111, ECONNRESET: -104, ETIMEDOUT: -110, ENOTFOUND: -3008 };
const getSystemErrorName = (number) => Object.keys(SIGNALS).find((name) => SIGNALS[name] === number);

const isKind = (kind) => (value) => typeof value === kind;
const legacy = {
  isArray: Array.isArray,
  isBoolean: isKind('boolean'),
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: isKind('number'),
  isString: isKind('string'),
  isSymbol: isKind('symbol'),
  isUndefined: (value) => value === undefined,
  isRegExp: types.isRegExp,
  isObject: (value) => value !== null && typeof value === 'object',
  isDate: types.isDate,
  isError: types.isNativeError,
  isFunction: isKind('function'),
  isPrimitive: (value) => value === null || (typeof value !== 'object' && typeof value !== 'function'),
  isBuffer: (value) => internal.Buffer.isBuffer(value),
};

const util = {
  ...legacy,
  inspect: internal.inspect,
  format: internal.format,
  formatWithOptions: (options, ...values) => internal.format(...values),
  promisify,
  callbackify,
  deprecate,
  inherits,
  debuglog,
  debug: debuglog,
  styleText,
  stripVTControlCharacters: (text) => internal.nodeErrors.requireString(text, 'str').replace(ESCAPES, ''),
  toUSVString: (text) => String(text).toWellFormed(),
  isDeepStrictEqual: (a, b) => internal.lazy('node/deep-equal').strict(a, b),
  aborted,
  transferableAbortController: () => new AbortController(),
  transferableAbortSignal: (signal) => signal,
  getSystemErrorName,
  getSystemErrorMap: () => new Map(Object.entries(SIGNALS).map(([name, number]) => [number, [name, name]])),
  log: (...values) => internal.logLine('info', internal.format(...values)),
  _extend: (target, source) => (source === null || typeof source !== 'object' ? target : Object.assign(target, source)),
  types,
  parseArgs: (config) => internal.lazy('node/parse-args')(config),
  parseEnv: (text) => Object.fromEntries([...text.matchAll(/^\s*(?:export\s+)?([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^#\n]*))/gm)].map(([, name, double, single, bare]) => [name, double ?? single ?? bare.trim()])),
  get TextEncoder() { return globalThis.TextEncoder; },
  get TextDecoder() { return globalThis.TextDecoder; },
  get MIMEType() { throw internal.nodeErrors.unavailable('util.MIMEType'); },
};
Object.defineProperty(util, 'MIMEType', { enumerable: false });
return util;
