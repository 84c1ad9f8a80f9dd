'use strict';
// `async_hooks`, as far as QuickJS lets it be built.
//
// A context follows callbacks exactly through `then`, timers, nextTick and queueMicrotask. QuickJS resumes an `await`
// without telling anyone, so after one the store is that of the innermost `run` whose promise is still
// pending: exact while such runs do not overlap, the latest one when they do.
const { requireFunction } = internal.nodeErrors;

const NOTHING = new Map();
let context = NOTHING;

const within = (other, callback, self, args) => {
  const before = context;
  context = other;
  try {
    return Reflect.apply(callback, self, args);
  } finally {
    context = before;
  }
};

const bound = (callback) => {
  if (typeof callback !== 'function') return callback;
  const captured = context;
  return function (...args) { return within(captured, callback, this, args); };
};
internal.bindAsyncContext = bound;

// Installed once somebody made a storage: nobody else pays for it.
let isInstalled = false;
const install = () => {
  if (isInstalled) return;
  isInstalled = true;
  const { then } = Promise.prototype;
  Object.defineProperty(Promise.prototype, 'then', {
    value: function (onFulfilled, onRejected) {
      return context === NOTHING ? Reflect.apply(then, this, [onFulfilled, onRejected]) : Reflect.apply(then, this, [bound(onFulfilled), bound(onRejected)]);
    },
    writable: true,
    configurable: true,
  });
  for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']) {
    const original = globalThis[name];
    const replacement = (callback, ...rest) => original(context === NOTHING ? callback : bound(callback), ...rest);
    Object.assign(replacement, original);
    for (const symbol of Object.getOwnPropertySymbols(original)) replacement[symbol] = original[symbol];
    globalThis[name] = replacement;
  }
};

class AsyncLocalStorage {
  #pending = [];
  #isEnabled = true;
  constructor() { install(); }
  static bind(callback) { return bound(callback); }
  static snapshot() { return bound((callback, ...args) => callback(...args)); }
  getStore() {
    if (!this.#isEnabled) return undefined;
    if (context.has(this)) return context.get(this);
    return this.#pending.length > 0 ? this.#pending[this.#pending.length - 1].store : undefined;
  }
  run(store, callback, ...args) {
    this.#isEnabled = true;
    const result = within(new Map(context).set(this, store), callback, undefined, args);
    if (typeof result?.then !== 'function') return result;
    const entry = { store };
    this.#pending.push(entry);
    const forget = () => { this.#pending = this.#pending.filter((other) => other !== entry); };
    result.then(forget, forget);
    return result;
  }
  exit(callback, ...args) { return this.run(undefined, callback, ...args); }
  enterWith(store) {
    this.#isEnabled = true;
    context = new Map(context).set(this, store);
    this.#pending.push({ store });
  }
  disable() {
    this.#isEnabled = false;
    this.#pending = [];
  }
}

let lastId = 1;
class AsyncResource {
  #context = context;
  #id = ++lastId;
  constructor(type) { this.type = type; }
  runInAsyncScope(callback, self, ...args) { return within(this.#context, callback, self, args); }
  bind(callback, self) {
    requireFunction(callback, 'fn');
    const resource = this;
    return function (...args) { return resource.runInAsyncScope(callback, self ?? this, ...args); };
  }
  static bind(callback, type, self) { return new AsyncResource(type).bind(callback, self); }
  emitDestroy() { return this; }
  asyncId() { return this.#id; }
  triggerAsyncId() { return 1; }
}

return {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => ({ enable() { return this; }, disable() { return this; } }),
  executionAsyncId: () => 1,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
  asyncWrapProviders: {},
};
