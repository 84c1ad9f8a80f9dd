'use strict';
// `async_hooks`: the context a callback was made in is the one it runs in.
//
// Callbacks of `then`, timers, nextTick, queueMicrotask and requests are bound when they are given. `await` gives no
// callback, so its continuation is preceded by a job that enters the context; the queue of jobs is first in, first out,
// and nothing can come between the two:
// - of a native promise `await` reads `constructor`, and does so before it adds its own reaction: ours is added there;
// - of anything else it makes a promise, and QuickJS tells us of that, and again just before the reactions of a
//   fulfilled one are queued.
// Every job thus enters a context of its own, and none needs to restore another's.
const { then } = internal.primordials;
const { requireFunction } = internal.nodeErrors;

const MADE = 0;
const BEFORE_THENABLE = 1;
const AFTER_THENABLE = 2;
const FULFILLED = 3;

const OURS = Symbol('a promise of this file');
const RESOLVED = Promise.resolve();
const TOP = { stores: new Map(), resource: {}, id: 1 };
const madeIn = new WeakMap();

let context = TOP;
// The promise whose `constructor` is read by ourselves.
let exempt;
let isArranging = false;
let isCallingThenable = false;

const within = (other, callback, self, args) => {
  const before = context;
  context = other;
  try {
    return Reflect.apply(callback, self, args);
  } finally {
    context = before;
  }
};

// Whatever is queued next when `promise` settles runs in `other`.
const enterBefore = (promise, other) => {
  const enter = () => { context = other; };
  const before = exempt;
  exempt = promise;
  isArranging = true;
  try {
    then(promise, enter, enter);
  } finally {
    isArranging = false;
    exempt = before;
  }
};

const bound = (callback) => {
  if (typeof callback !== 'function') return callback;
  const captured = context;
  return function (...args) { return within(captured, callback, this, args); };
};

// === promises ===

const reaction = (callback, isForwarded) => {
  if (typeof callback !== 'function') return callback;
  const captured = context;
  return (value) => {
    context = captured;
    // A thenable that was awaited hands on what settles the `await`; a rejection is reported nowhere else.
    if (isForwarded) enterBefore(RESOLVED, captured);
    return callback(value);
  };
};

const watch = (what, promise) => {
  switch (what) {
    case MADE:
      if (isArranging) madeIn.set(promise, OURS);
      else if (context !== TOP) madeIn.set(promise, context);
      break;
    case BEFORE_THENABLE:
      context = madeIn.get(promise) ?? TOP;
      isCallingThenable = true;
      break;
    case AFTER_THENABLE:
      isCallingThenable = false;
      break;
    case FULFILLED: {
      const made = madeIn.get(promise) ?? TOP;
      if (made !== OURS) enterBefore(RESOLVED, made);
      break;
    }
  }
};

const watchPromises = () => {
  const { prototype } = Promise;
  const { then: nativeThen, constructor } = prototype;
  Object.defineProperty(prototype, 'then', {
    // eslint-disable-next-line no-shadow -- its name is what a component sees of it.
    value: function then(onFulfilled, onRejected) {
      const before = exempt;
      exempt = this;
      try {
        return Reflect.apply(nativeThen, this, [reaction(onFulfilled, false), reaction(onRejected, isCallingThenable)]);
      } finally {
        exempt = before;
      }
    },
    writable: true,
    configurable: true,
  });
  Object.defineProperty(prototype, 'constructor', {
    get() {
      if (this !== exempt && host.isPromise(this)) enterBefore(this, context);
      return constructor;
    },
    set(value) { Object.defineProperty(this, 'constructor', { value, writable: true, enumerable: true, configurable: true }); },
    configurable: true,
  });
  host.watchPromises(watch);
};

// Installed with the first storage, so that programs without one do not pay for it.
let isInstalled = false;
const install = () => {
  if (isInstalled) return;
  isInstalled = true;
  internal.bindAsyncContext = bound;
  watchPromises();
  // What the last job of loading was in is over.
  const { beginRun } = internal;
  internal.beginRun = (call) => {
    context = TOP;
    beginRun(call);
  };
};

// === what programs use ===

const withStore = (storage, store) => ({ ...context, stores: new Map(context.stores).set(storage, store) });

class AsyncLocalStorage {
  #isEnabled = false;
  constructor() { install(); }
  static bind(callback) { return bound(requireFunction(callback, 'fn')); }
  static snapshot() { return bound((callback, ...args) => callback(...args)); }
  getStore() { return this.#isEnabled ? context.stores.get(this) : undefined; }
  run(store, callback, ...args) {
    this.#isEnabled = true;
    return within(withStore(this, store), callback, undefined, args);
  }
  exit(callback, ...args) { return within(withStore(this, undefined), callback, undefined, args); }
  enterWith(store) {
    this.#isEnabled = true;
    context = withStore(this, store);
  }
  disable() { this.#isEnabled = false; }
}

let lastId = 1;
class AsyncResource {
  #context;
  #id = ++lastId;
  #trigger = context.id;
  constructor(type) {
    this.type = internal.nodeErrors.requireString(type, 'type');
    this.#context = { ...context, resource: this, id: this.#id };
  }
  runInAsyncScope(callback, self, ...args) { return within(this.#context, callback, self, args); }
  bind(callback, self) {
    requireFunction(callback, 'fn');
    const resource = this;
    return function (...args) { return resource.runInAsyncScope(callback, self ?? this, ...args); };
  }
  static bind(callback, type, self) { return new AsyncResource(type ?? (callback?.name || 'bound-anonymous-fn')).bind(callback, self); }
  emitDestroy() { return this; }
  asyncId() { return this.#id; }
  triggerAsyncId() { return this.#trigger; }
}

return {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => ({ enable() { return this; }, disable() { return this; } }),
  executionAsyncId: () => context.id,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => context.resource,
  asyncWrapProviders: {},
};
