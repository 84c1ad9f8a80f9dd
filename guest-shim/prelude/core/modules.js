'use strict';
// The CommonJS loader, over the table of modules that the host made of a component and its packages.
//
// Source text is asked for when a module is first required, so an image holds code that was evaluated and
// nothing of what was not; a `require` inside a function finds its module at run time the same way.
const { parse, apply, keys, hasOwn, create, split, join, slice, startsWith, mapGet, mapSet, mapHas, mapDelete, Map, Proxy, SyntaxError } = internal.primordials;

const SUFFIXES = ['', '.js', '.json', '.cjs', '/index.js', '/index.json'];

let table = new Map();
let cache = new Map();

// Modules that are part of the platform: name -> function that makes its exports.
const builtins = create(null);
const builtinCache = new Map();
internal.defineBuiltin = (name, make) => { builtins[name] = make; };
internal.builtinNames = () => keys(builtins);

internal.builtin = (specifier) => {
  const name = startsWith(specifier, 'node:') ? slice(specifier, 5) : specifier;
  if (!hasOwn(builtins, name)) return undefined;
  if (!mapHas(builtinCache, name)) mapSet(builtinCache, name, { exports: builtins[name]() });
  return mapGet(builtinCache, name);
};

// Paths lead from the root, and are kept without the slash in front.
const bare = (path) => (startsWith(path, '/') ? slice(path, 1) : path);

const dirname = (path) => {
  const parts = split(path, '/');
  parts.length -= 1;
  return join(parts, '/');
};

const joinPath = (folder, specifier) => {
  const parts = folder === '' ? [] : split(folder, '/');
  for (const part of split(specifier, '/')) {
    if (part === '..') parts.length > 0 && parts[parts.length - 1] !== '..' ? (parts.length -= 1) : (parts[parts.length] = '..');
    else if (part !== '.' && part !== '') parts[parts.length] = part;
  }
  return join(parts, '/');
};

const notFound = (specifier, from) => internal.codedError(
  'MODULE_NOT_FOUND',
  startsWith(specifier, '.')
    ? `Cannot find module '${specifier}' required by ${from}: add the file to the component`
    : `Cannot find module '${specifier}' required by ${from}`,
);

const resolve = (specifier, from) => {
  const imports = mapGet(table, from)?.imports;
  if (imports && hasOwn(imports, specifier)) return bare(imports[specifier]);
  if (startsWith(specifier, '.') || startsWith(specifier, '/')) {
    const base = joinPath(startsWith(specifier, '/') ? '' : dirname(from), specifier);
    for (const suffix of SUFFIXES) if (mapHas(table, base + suffix)) return base + suffix;
  }
  throw notFound(specifier, from);
};

const evaluate = (record, module) => {
  if (record.kind === 'json') {
    module.exports = parseJson(host.source(record.path) ?? '', record.path);
    return;
  }
  const run = host.compileModule(record.path);
  if (run === undefined || run === null) throw notFound(record.path, 'the component');
  internal.beginEvaluating(record.path);
  try {
    apply(run, module.exports, [module.exports, module.require, module, module.filename, module.path]);
  } finally {
    internal.endEvaluating();
  }
};

const parseJson = (source, path) => {
  try {
    return parse(source);
  } catch (error) {
    throw new SyntaxError(`${path}: ${error.message}`);
  }
};

// Stands where Node has the script it was started with, which is never a module of the component.
const main = { id: '.', path: '/', exports: {}, filename: '/wellspring', loaded: true, children: [], paths: [], parent: null };
const extensions = { '.js': undefined, '.json': undefined };

// What `require.cache` shows: the modules by file name. Deleting one makes the next `require` evaluate it again.
const shownCache = new Proxy(create(null), {
  get: (_, name) => (typeof name === 'string' ? mapGet(cache, bare(name)) : undefined),
  has: (_, name) => typeof name === 'string' && mapHas(cache, bare(name)),
  deleteProperty: (_, name) => { if (typeof name === 'string') mapDelete(cache, bare(name)); return true; },
  ownKeys: () => fileNames(),
  getOwnPropertyDescriptor: (_, name) => {
    const value = typeof name === 'string' ? mapGet(cache, bare(name)) : undefined;
    return value && { value, writable: true, enumerable: true, configurable: true };
  },
});
const fileNames = () => {
  const names = [];
  cache.forEach((module) => { names[names.length] = module.filename; });
  return names;
};

const makeRequire = (from, parent) => {
  const require = (specifier) => {
    if (typeof specifier !== 'string') {
      throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "id" argument must be of type string.', TypeError);
    }
    const imports = mapGet(table, from)?.imports;
    const isOverridden = imports && hasOwn(imports, specifier);
    const builtin = isOverridden ? undefined : internal.builtin(specifier);
    return builtin ? builtin.exports : internal.loadModule(resolve(specifier, from), parent).exports;
  };
  require.resolve = (specifier) => (internal.builtin(specifier) ? specifier : `/${resolve(specifier, from)}`);
  require.resolve.paths = () => null;
  require.cache = shownCache;
  require.extensions = extensions;
  require.main = main;
  return require;
};

// For `module.createRequire`.
internal.requireFrom = (path) => makeRequire(bare(path), main);

internal.loadModule = (path, parent = main) => {
  if (mapHas(cache, path)) return mapGet(cache, path);
  const filename = `/${path}`;
  const module = { id: filename, path: `/${dirname(path)}`, exports: {}, filename, loaded: false, children: [], paths: [], parent };
  module.require = makeRequire(path, module);
  mapSet(cache, path, module);
  try {
    evaluate(mapGet(table, path), module);
  } catch (error) {
    mapDelete(cache, path);
    throw error;
  }
  module.loaded = true;
  return module;
};

// The text of a module as the file it was, for `fs`.
internal.moduleSource = (path) => {
  const record = mapGet(table, bare(path));
  return record && host.source(record.path);
};

internal.loadProgram = (program) => {
  table = new Map();
  cache = new Map();
  for (const record of program.modules) mapSet(table, bare(record.path), record);
  return internal.loadModule(bare(program.entry));
};
