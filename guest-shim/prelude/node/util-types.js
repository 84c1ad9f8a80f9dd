'use strict';
// `util.types`: what a value is, by its internal class and not by what its prototype claims.
const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const isObject = (value) => typeof value === 'object' && value !== null;

// Calls a method that only works on the real thing.
const accepts = (method) => (value) => {
  if (!isObject(value)) return false;
  try {
    method.call(value);
    return true;
  } catch {
    return false;
  }
};
const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
const typedTag = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const isTyped = (name) => (value) => isObject(value) && ArrayBuffer.isView(value) && typedTag.call(value) === name;

const isMap = accepts(getter(Map.prototype, 'size'));
const isSet = accepts(getter(Set.prototype, 'size'));
const isArrayBuffer = accepts(getter(ArrayBuffer.prototype, 'byteLength'));
const isSharedArrayBuffer = typeof SharedArrayBuffer === 'function' ? accepts(getter(SharedArrayBuffer.prototype, 'byteLength')) : () => false;
const isDate = accepts(Date.prototype.getTime);
const isRegExp = (value) => value instanceof RegExp || (isObject(value) && tagOf(value) === 'RegExp');
const isPromise = (value) => host.isPromise(value);
const isNumberObject = accepts(Number.prototype.valueOf);
const isStringObject = accepts(String.prototype.valueOf);
const isBooleanObject = accepts(Boolean.prototype.valueOf);
const isBigIntObject = accepts(BigInt.prototype.valueOf);
const isSymbolObject = accepts(Symbol.prototype.valueOf);

const types = {
  isMap,
  isSet,
  isDate,
  isRegExp,
  isPromise,
  isArrayBuffer,
  isSharedArrayBuffer,
  isAnyArrayBuffer: (value) => isArrayBuffer(value) || isSharedArrayBuffer(value),
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isDataView: (value) => ArrayBuffer.isView(value) && typedTag.call(value) === undefined,
  isTypedArray: (value) => ArrayBuffer.isView(value) && typedTag.call(value) !== undefined,
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
  isNativeError: (value) => value instanceof Error || (isObject(value) && tagOf(value) === 'Error'),
  isNumberObject,
  isStringObject,
  isBooleanObject,
  isBigIntObject,
  isSymbolObject,
  isBoxedPrimitive: (value) => [isNumberObject, isStringObject, isBooleanObject, isBigIntObject, isSymbolObject].some((is) => is(value)),
  isAsyncFunction: (value) => typeof value === 'function' && ['AsyncFunction', 'AsyncGeneratorFunction'].includes(tagOf(value)),
  isGeneratorFunction: (value) => typeof value === 'function' && ['GeneratorFunction', 'AsyncGeneratorFunction'].includes(tagOf(value)),
  isGeneratorObject: (value) => isObject(value) && ['Generator', 'AsyncGenerator'].includes(tagOf(value)),
  isMapIterator: (value) => isObject(value) && tagOf(value) === 'Map Iterator',
  isSetIterator: (value) => isObject(value) && tagOf(value) === 'Set Iterator',
  isArgumentsObject: (value) => isObject(value) && !(Symbol.toStringTag in value) && tagOf(value) === 'Arguments',
  isModuleNamespaceObject: (value) => isObject(value) && tagOf(value) === 'Module',
  isKeyObject: (value) => value instanceof (internal.lazy('node/crypto-keys').KeyObject),
  isCryptoKey: (value) => typeof globalThis.CryptoKey === 'function' && value instanceof globalThis.CryptoKey,
  // A Proxy hides what it is, and QuickJS has no way to ask.
  isProxy: () => false,
  isExternal: () => false,
};
for (const name of ['Uint8Array', 'Uint8ClampedArray', 'Uint16Array', 'Uint32Array', 'Int8Array', 'Int16Array', 'Int32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']) {
  types[`is${name}`] = isTyped(name);
}
return types;
