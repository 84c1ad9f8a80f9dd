'use strict';
// QuickJS has CallSite objects with a few of V8's methods; packages such as depd call the others without asking.
const missing = {
  getTypeName: () => 'Object',
  getMethodName: () => null,
  getThis: () => undefined,
  getEvalOrigin: () => undefined,
  getScriptNameOrSourceURL() { return this.getFileName(); },
  getScriptHash: () => '',
  getEnclosingLineNumber() { return this.getLineNumber(); },
  getEnclosingColumnNumber() { return this.getColumnNumber(); },
  getPosition: () => 0,
  getPromiseIndex: () => null,
  isToplevel: () => true,
  isEval: () => false,
  isConstructor: () => false,
  isAsync: () => false,
  isPromiseAll: () => false,
  toString() {
    const name = this.getFunctionName();
    const where = this.isNative() ? 'native' : `${this.getFileName()}:${this.getLineNumber()}:${this.getColumnNumber()}`;
    return name ? `${name} (${where})` : where;
  },
};

const findPrototype = () => {
  const before = Error.prepareStackTrace;
  let sites = [];
  Error.prepareStackTrace = (error, found) => { sites = found; return ''; };
  void new Error('').stack;
  Error.prepareStackTrace = before;
  return Array.isArray(sites) && sites.length > 0 ? Object.getPrototypeOf(sites[0]) : undefined;
};

const prototype = findPrototype();
if (prototype !== undefined) {
  for (const [name, value] of Object.entries(missing)) {
    if (typeof prototype[name] !== 'function' || name === 'toString') {
      Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
    }
  }
}
