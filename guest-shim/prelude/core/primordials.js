'use strict';
// What the prelude itself relies on, captured before any component runs. A component may replace or poison every
// global; it then harms its own code only, never the way its run is reported.
const { apply, ownKeys, getPrototypeOf } = Reflect;
const uncurry = (method) => (self, ...args) => apply(method, self, args);

internal.primordials = {
  apply,
  ownKeys,
  getPrototypeOf,
  parse: JSON.parse,
  stringify: JSON.stringify,
  isArray: Array.isArray,
  keys: Object.keys,
  create: Object.create,
  assign: Object.assign,
  freeze: Object.freeze,
  defineProperty: Object.defineProperty,
  getOwnPropertyDescriptor: Object.getOwnPropertyDescriptor,
  hasOwn: Object.hasOwn,
  isFinite: Number.isFinite,
  Map,
  Set,
  Promise,
  Error,
  TypeError,
  RangeError,
  SyntaxError,
  String,
  Number,
  Uint8Array,
  ArrayBuffer,
  Proxy,
  WeakRef,
  then: uncurry(Promise.prototype.then),
  bind: uncurry(Function.prototype.bind),
  functionToString: uncurry(Function.prototype.toString),
  join: uncurry(Array.prototype.join),
  push: uncurry(Array.prototype.push),
  slice: uncurry(String.prototype.slice),
  split: uncurry(String.prototype.split),
  startsWith: uncurry(String.prototype.startsWith),
  includes: uncurry(String.prototype.includes),
  toWellFormed: uncurry(String.prototype.toWellFormed),
  exec: uncurry(RegExp.prototype.exec),
  mapGet: uncurry(Map.prototype.get),
  mapSet: uncurry(Map.prototype.set),
  mapHas: uncurry(Map.prototype.has),
  mapDelete: uncurry(Map.prototype.delete),
  mapForEach: uncurry(Map.prototype.forEach),
  setHas: uncurry(Set.prototype.has),
  setAdd: uncurry(Set.prototype.add),
  setDelete: uncurry(Set.prototype.delete),
  setForEach: uncurry(Set.prototype.forEach),
  bytesSet: uncurry(Uint8Array.prototype.set),
};

// A string that can be passed to the host: lone surrogates have no UTF-8.
internal.text = (value) => internal.primordials.toWellFormed(typeof value === 'string' ? value : `${String(value)}`);
