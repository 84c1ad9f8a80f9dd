'use strict';
// `module`.
const PREFIX = 'node:';
const names = internal.builtinNames().filter((name) => !name.startsWith('_'));
const bare = (name) => (name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name);

const pathOf = (from) => {
  const path = typeof from === 'string' && !from.startsWith('file:') ? from : internal.builtin('url').exports.fileURLToPath(from);
  return path.replace(/^\/+/, '');
};

class Module {
  static builtinModules = names;
  static isBuiltin = (name) => typeof name === 'string' && internal.builtinNames().includes(bare(name));
  static createRequire = (from) => internal.requireFrom(pathOf(from));
  static _extensions = Object.assign(Object.create(null), { '.js': () => {}, '.json': () => {}, '.node': () => {} });
  static _cache = Object.create(null);
  static _pathCache = Object.create(null);
  static globalPaths = [];
  static syncBuiltinESMExports() {}
  static findSourceMap() { return undefined; }
  static enableCompileCache() { return { status: 3 }; }
  static register = internal.unavailable('module.register');
  static _load = internal.unavailable('module._load', 'use require');
  static _resolveFilename = internal.unavailable('module._resolveFilename', 'use require.resolve');
  static wrap = (code) => `(function (exports, require, module, __filename, __dirname) { ${code}\n});`;
  constructor(id = '') {
    Object.assign(this, { id, path: '', exports: {}, filename: null, loaded: false, children: [], paths: [] });
  }
}
Module.Module = Module;
return Module;
