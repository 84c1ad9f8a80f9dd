// Stands for any npm package: it can be called, constructed, read and written to any depth.
const make = () => new Proxy(function stub() {}, {
  get: (target, key) => {
    if (key === Symbol.toPrimitive) return () => 'stub';
    // Not a promise, or awaiting it would never end; not an ES module; and its prototype must stay what it is.
    if (key === 'then' || key === '__esModule') return undefined;
    if (key === Symbol.iterator) return function* () {};
    if (key in target && key !== 'name' && key !== 'length') return target[key];
    target[key] = make();
    return target[key];
  },
  apply: () => make(),
  construct: () => make(),
});
module.exports = make();
