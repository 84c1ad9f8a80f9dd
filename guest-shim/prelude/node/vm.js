'use strict';
// `vm`: a script can run in the component's own global scope; there is no second one to give away.
const { requireString } = internal.nodeErrors;
const refuse = (name) => internal.unavailable(`vm.${name}`, 'a component has one global scope; use runInThisContext');
// eslint-disable-next-line no-eval -- indirect, as `vm.runInThisContext` evaluates: in the global scope.
const evaluate = eval;

class Script {
  #code;
  constructor(code) {
    this.#code = requireString(code, 'code');
    this.cachedDataRejected = false;
  }
  runInThisContext() { return evaluate(this.#code); }
  runInContext() { return refuse('Script.runInContext')(); }
  runInNewContext() { return refuse('Script.runInNewContext')(); }
  createCachedData() { return internal.Buffer.alloc(0); }
}

return {
  Script,
  runInThisContext: (code) => new Script(code).runInThisContext(),
  compileFunction: (code, parameters = []) => new Function(...parameters, code),
  createContext: refuse('createContext'),
  runInContext: refuse('runInContext'),
  runInNewContext: refuse('runInNewContext'),
  isContext: () => false,
  measureMemory: refuse('measureMemory'),
  SourceTextModule: refuse('SourceTextModule'),
  SyntheticModule: refuse('SyntheticModule'),
  constants: { USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol('vm_dynamic_import_main_context_default') },
};
