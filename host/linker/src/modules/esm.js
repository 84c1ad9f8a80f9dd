// What lowered ES modules stand on. CommonJS itself, so that a CommonJS loader alone runs everything.
"use strict";

// From what `require` returns to the namespace that `import` sees.
const namespaces = new WeakMap();
// From the namespace of an ES module to its record.
const records = new WeakMap();

// From what `require` returns to the end of the evaluation, for modules that await outside of functions.
const evaluations = new WeakMap();

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

function createNamespace() {
  const namespace = Object.create(null);
  Object.defineProperty(namespace, Symbol.toStringTag, { value: "Module" });
  return namespace;
}

// Configurable only where names may still be put into order.
function addGetter(object, name, get, configurable) {
  Object.defineProperty(object, name, { enumerable: true, configurable, get });
}

function addName(record, name, get) {
  if (name in record.getters) return;
  record.getters[name] = get;
  addGetter(record.namespace, name, get, record.isOpen);
  if (record.facade !== record.namespace) addGetter(record.facade, name, get, record.isOpen);
  // In a circle, others have already copied the names that were known then.
  if (name !== "default") for (const dependent of record.dependents) addName(dependent, name, get);
}

// Called first of all, so that modules in a circle find functions and, later, values.
// `isOpen` when `export *` will add names.
exports.define = (module, getters, isOpen) => {
  const namespace = createNamespace();
  // As in Node: `require` of a module with a default export says that it is an ES module.
  const needsMark = "default" in getters && !("__esModule" in getters);
  const facade = needsMark ? createNamespace() : namespace;
  const record = { namespace, facade, getters: Object.create(null), dependents: [], isOpen };
  const names = Object.keys(getters);
  if (needsMark) names.push("__esModule");
  for (const name of names.sort()) {
    if (name in getters) addName(record, name, getters[name]);
    else addGetter(facade, name, () => true, isOpen);
  }
  namespaces.set(facade, namespace);
  namespaces.set(namespace, namespace);
  records.set(namespace, record);
  module.exports = facade;
  return record;
};

// The namespace of what `require` returned. `names` are wanted even where they do not exist yet;
// without them, all that exist are.
const namespaceOf = (exports.namespaceOf = (value, names) => {
  let namespace = isObject(value) ? namespaces.get(value) : undefined;
  if (namespace !== undefined && records.has(namespace)) return namespace;
  if (namespace === undefined) {
    namespace = createNamespace();
    addGetter(namespace, "default", () => value, true);
    if (isObject(value)) namespaces.set(value, namespace);
  }
  for (const name of names ?? namesOf(value)) {
    if (!(name in namespace)) addGetter(namespace, name, () => value?.[name], true);
  }
  return names === undefined ? sort(namespace) : namespace;
});

function namesOf(value) {
  if (!isObject(value)) return [];
  const names = Object.keys(value);
  if (Object.prototype.hasOwnProperty.call(value, "__esModule")) names.push("__esModule");
  return names;
}

// Namespaces list their names in order.
function sort(namespace) {
  const names = Object.keys(namespace);
  const sorted = [...names].sort();
  if (sorted.every((name, index) => name === names[index])) return namespace;
  for (const name of sorted) {
    const { get } = Object.getOwnPropertyDescriptor(namespace, name);
    delete namespace[name];
    addGetter(namespace, name, get, true);
  }
  return namespace;
}

// export * from …
exports.star = (record, value) => {
  const namespace = namespaceOf(value);
  const source = records.get(namespace);
  if (source === record) return;
  if (source !== undefined) source.dependents.push(record);
  for (const name of Object.keys(namespace)) {
    if (name === "default") continue;
    addName(record, name, source === undefined ? () => namespace[name] : source.getters[name]);
  }
  sort(record.namespace);
  if (record.facade !== record.namespace) sort(record.facade);
};

// At the end of a module that exports "module.exports": what `require` returns.
exports.publish = (module, record) => {
  const value = record.getters["module.exports"]();
  if (isObject(value) && !namespaces.has(value)) namespaces.set(value, record.namespace);
  module.exports = value;
};

// The body of a module that awaits, or that imports one that does. A loader waits for the entry's `evaluation`.
exports.evaluate = (module, body) => {
  const evaluation = body();
  // `define` has set the exports: it comes first in the body.
  evaluations.set(module.exports, evaluation);
  module.evaluation = evaluation;
};

const evaluationOf = (value) => (isObject(value) ? evaluations.get(value) : undefined);

// When everything that was imported is there. In a circle, a module that has only begun is not waited for.
exports.evaluated = (values) => Promise.all(values.map(evaluationOf));

// import(…)
exports.dynamic = (load, specifier) =>
  new Promise((resolve) => resolve(`${specifier}`)).then((text) => {
    const value = load(text);
    const evaluation = evaluationOf(value);
    return evaluation === undefined ? namespaceOf(value) : evaluation.then(() => namespaceOf(value));
  });

// An anonymous `export default function` is hoisted, and its name is "default".
exports.nameDefault = (value) => {
  Object.defineProperty(value, "name", { value: "default", configurable: true });
};

// import.meta
exports.meta = (filename, load) => {
  const url = `file://${encodeURI(filename).replace(/[?#]/g, encodeURIComponent)}`;
  return {
    __proto__: null,
    dirname: filename.slice(0, filename.lastIndexOf("/")) || "/",
    filename,
    resolve(specifier) {
      const text = `${specifier}`;
      if (/^(?:node|data|file|https?):/.test(text)) return text;
      if (/^\.{0,2}\//.test(text)) return new URL(text, url).href;
      const path = load.resolve(text);
      return path.startsWith("/") ? `file://${encodeURI(path)}` : `node:${path.replace(/^node:/, "")}`;
    },
    url,
  };
};
