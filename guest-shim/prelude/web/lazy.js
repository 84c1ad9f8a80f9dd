'use strict';
// Parts of the prelude that are compiled when they are first used, and globals that appear when they are first read.
const { apply, defineProperty, mapGet, mapSet, mapHas, Map, Error } = internal.primordials;

const loaded = new Map();

// What the file `prelude/<name>.js` returns. It runs once.
internal.lazy = (name) => {
  if (mapHas(loaded, name)) return mapGet(loaded, name);
  const part = host.compileLazy(name);
  if (part === undefined || part === null) throw new Error(`the prelude has no part named ${name}`);
  const made = apply(part, undefined, [internal, host]);
  mapSet(loaded, name, made);
  return made;
};

const define = (target, name, value) => defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
internal.defineGlobal = (name, value) => define(globalThis, name, value);

// Globals `names`, all made by the part `part`, which returns an object that has them.
internal.defineLazyGlobals = (part, names) => {
  for (const name of names) {
    defineProperty(globalThis, name, {
      configurable: true,
      enumerable: false,
      get: () => {
        const value = internal.lazy(part)[name];
        define(globalThis, name, value);
        return value;
      },
      set: (value) => define(globalThis, name, value),
    });
  }
};

// Members of a web interface are enumerable, those of a class are not.
internal.makeEnumerable = (prototype) => {
  for (const name of Object.getOwnPropertyNames(prototype)) {
    if (name !== 'constructor') defineProperty(prototype, name, { enumerable: true });
  }
};
