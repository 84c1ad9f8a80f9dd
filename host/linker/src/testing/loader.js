// A CommonJS loader over a table of modules, as small as the one in the guest.
"use strict";
const vm = require("node:vm");
const { modules, entry } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const platform = require;
const cache = new Map();
function load(path) {
  if (cache.has(path)) return cache.get(path).exports;
  const record = modules[path];
  const module = { exports: {}, filename: path, id: path };
  cache.set(path, module);
  if (record.kind === "json") return (module.exports = JSON.parse(record.source));
  const resolve = (specifier) => {
    if (Object.hasOwn(record.imports, specifier)) return record.imports[specifier];
    if (platform("node:module").isBuiltin(specifier)) return specifier;
    const written = platform("node:path").posix.resolve(path.slice(0, path.lastIndexOf("/")), specifier);
    const found = ["", ".js", ".json", ".cjs", "/index.js", "/index.json"].map((ending) => written + ending);
    const target = /^[./]/.test(specifier) && found.find((file) => Object.hasOwn(modules, file));
    if (target) return target;
    throw Object.assign(new Error(`Cannot find module '${specifier}'`), { code: "MODULE_NOT_FOUND" });
  };
  const require = (specifier) => {
    const target = resolve(specifier);
    return Object.hasOwn(modules, target) ? load(target) : platform(target);
  };
  require.resolve = resolve;
  const names = ["exports", "require", "module", "__filename", "__dirname"];
  const run = vm.compileFunction(record.source, names, { filename: path });
  run.call(module.exports, module.exports, require, module, path, path.slice(0, path.lastIndexOf("/")));
  return module.exports;
}
load(entry);
