'use strict';
// structuredClone.
const { DOMException } = internal.lazy('web/dom-exception');

const { toString } = Object.prototype;
const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const BOXED = new Map([['[object Boolean]', Boolean], ['[object Number]', Number], ['[object String]', String], ['[object BigInt]', BigInt]]);

// Reading a private slot through its own prototype tells what a value is, whatever it says of itself.
const hasSlot = (read) => (value) => {
  try {
    read(value);
    return true;
  } catch {
    return false;
  }
};
const getter = (prototype, name) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return (value) => get.call(value);
};
const isDate = hasSlot((value) => Date.prototype.getTime.call(value));
const isMap = hasSlot(getter(Map.prototype, 'size'));
const isSet = hasSlot(getter(Set.prototype, 'size'));
const isRegExp = (value) => toString.call(value) === '[object RegExp]' && hasSlot(getter(RegExp.prototype, 'source'))(value);
const isBuffer = hasSlot(getter(ArrayBuffer.prototype, 'byteLength'));
const isBlob = (value) => globalThis.Blob !== undefined && value instanceof globalThis.Blob;

const refuse = (value) => {
  const shown = typeof value === 'symbol' ? String(value) : typeof value === 'function' ? Function.prototype.toString.call(value) : toString.call(value).replace('[object ', '#<').replace(/\]$/, '>');
  return new DOMException(`${shown} could not be cloned.`, 'DataCloneError');
};

const unbox = (value) => {
  for (const kind of [Boolean, Number, String, BigInt]) {
    if (value instanceof kind) return kind.prototype.valueOf.call(value);
  }
  return undefined;
};

class Cloner {
  constructor(transferred) {
    this.seen = new Map(transferred);
  }

  clone(value) {
    if (typeof value === 'symbol' || typeof value === 'function') throw refuse(value);
    if (typeof value !== 'object' || value === null) return value;
    if (this.seen.has(value)) return this.seen.get(value);
    return this.cloneObject(value);
  }

  remember(value, made) {
    this.seen.set(value, made);
    return made;
  }

  cloneObject(value) {
    const boxed = BOXED.has(toString.call(value)) ? unbox(value) : undefined;
    if (boxed !== undefined) return this.remember(value, Object(boxed));
    if (isDate(value)) return this.remember(value, new Date(Date.prototype.getTime.call(value)));
    if (isRegExp(value)) return this.remember(value, new RegExp(value.source, value.flags));
    if (isBuffer(value)) return this.remember(value, ArrayBuffer.prototype.slice.call(value, 0));
    if (ArrayBuffer.isView(value)) return this.cloneView(value);
    if (isMap(value)) return this.cloneMap(value);
    if (isSet(value)) return this.cloneSet(value);
    if (Array.isArray(value)) return this.cloneMembers(value, new Array(value.length));
    if (value instanceof Error || Error.isError?.(value)) return this.cloneError(value);
    if (isBlob(value)) return this.remember(value, value.slice(0, value.size, value.type));
    if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef || value instanceof Promise) throw refuse(value);
    return this.cloneMembers(value, {});
  }

  cloneView(value) {
    const buffer = this.clone(value.buffer);
    // A Buffer becomes a Uint8Array, as in Node.
    const Kind = value instanceof DataView ? DataView : globalThis[Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get.call(value)];
    const length = value instanceof DataView ? value.byteLength : value.length;
    return this.remember(value, new Kind(buffer, value.byteOffset, length));
  }

  cloneMap(value) {
    const made = this.remember(value, new Map());
    for (const [key, item] of [...Map.prototype.entries.call(value)]) made.set(this.clone(key), this.clone(item));
    return made;
  }

  cloneSet(value) {
    const made = this.remember(value, new Set());
    for (const item of [...Set.prototype.values.call(value)]) made.add(this.clone(item));
    return made;
  }

  cloneError(value) {
    const Kind = ERRORS[value.name] ?? Error;
    const made = this.remember(value, new Kind());
    const hide = (name, found) => Object.defineProperty(made, name, { value: found, writable: true, configurable: true });
    for (const name of ['stack', 'message']) {
      const property = Object.getOwnPropertyDescriptor(value, name);
      if (property !== undefined && 'value' in property) hide(name, String(property.value));
    }
    if (Object.hasOwn(value, 'cause')) hide('cause', this.clone(value.cause));
    return made;
  }

  cloneMembers(value, made) {
    this.remember(value, made);
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(value, key)) Object.defineProperty(made, key, { value: this.clone(value[key]), writable: true, enumerable: true, configurable: true });
    }
    return made;
  }
}

const structuredClone = (value, options = undefined) => {
  const transferred = [];
  for (const item of options?.transfer ?? []) {
    if (!isBuffer(item) || item.detached) throw new DOMException('Value not transferable', 'DataCloneError');
    transferred.push(item);
  }
  // A clone that fails must leave what was to be transferred untouched.
  const cloner = new Cloner(transferred.map((item) => [item, item]));
  if (transferred.length === 0) return cloner.clone(value);
  new Cloner([]).clone(value);
  return new Cloner(transferred.map((item) => [item, item.transfer()])).clone(value);
};

return { structuredClone };
