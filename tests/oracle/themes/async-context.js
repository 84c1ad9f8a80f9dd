'use strict';
// AsyncLocalStorage: tasks made up at random run at the same time, and each tells which store it sees at every step. What
// is told is kept by task, so nothing depends on whose turn came first.
const { AsyncLocalStorage, AsyncResource } = require('async_hooks');

const failing = (value) => ({ then(resolve, reject) { reject(value); } });
const forwarding = (promise) => ({ then(resolve, reject) { return promise.then(resolve, reject); } });
const caught = async (work) => {
  try {
    return await work();
  } catch (error) {
    return error;
  }
};
async function* counting() {
  yield 1;
  await null;
  yield 2;
}
class Own extends Promise {}

// Ways to wait; each ends in the task that waited.
const WAITS = {
  'a value': async () => { await 1; },
  'a promise': async () => { await Promise.resolve(); },
  'a promise settled later': async () => { await new Promise((resolve) => { setImmediate(resolve); }); },
  'a timer': async () => { await new Promise((resolve) => { setTimeout(resolve, 1); }); },
  'a tick': async () => { await new Promise((resolve) => { process.nextTick(resolve); }); },
  'a microtask': async () => { await new Promise((resolve) => { queueMicrotask(resolve); }); },
  'a rejection': () => caught(() => Promise.reject(1)),
  'a rejection later': () => caught(() => new Promise((resolve, reject) => { setImmediate(reject, 1); })),
  'a thenable': async () => { await { then(resolve) { resolve(1); } }; },
  'a thenable that fails': () => caught(() => failing(1)),
  'a thenable that forwards': async () => { await forwarding(new Promise((resolve) => { setImmediate(resolve); })); },
  'a thenable that forwards a failure': () => caught(() => forwarding(new Promise((resolve, reject) => { setImmediate(reject, 1); }))),
  'a subclass': async () => { await Own.resolve(1); },
  'a subclass that fails': () => caught(() => Own.reject(1)),
  'all': async () => { await Promise.all([1, Promise.resolve(2), new Promise((resolve) => { setImmediate(resolve); })]); },
  'any': async () => { await Promise.any([Promise.reject(1), Promise.resolve(2)]); },
  'then and catch': () => Promise.resolve().then(() => { throw new Error('no'); }).catch(() => {}).finally(() => {}),
  'a generator': async () => { for await (const piece of counting()) await piece; },
  'an iterable of promises': async () => { for await (const piece of [Promise.resolve(1), 2]) await piece; },
};
const NAMES = Object.keys(WAITS);

const task = async (storage, steps, seen) => {
  for (const step of steps) {
    await WAITS[step.wait]();
    seen.push(storage.getStore() ?? 'none');
    if (step.inner !== undefined) {
      const inner = [];
      seen.push(inner);
      await storage.run(step.store, () => task(storage, step.inner, inner));
      seen.push(storage.getStore() ?? 'none');
    }
    if (step.enters) storage.enterWith(`${step.store} entered`);
    await Promise.resolve().then(() => seen.push(storage.getStore() ?? 'none'));
  }
};

module.exports = async ({ random, pick, checkLater }) => {
  const plan = (depth) => Array.from({ length: 1 + random(4) }, () => ({
    wait: pick(NAMES),
    store: random(1000),
    enters: random(6) === 0,
    inner: depth > 0 && random(3) === 0 ? plan(depth - 1) : undefined,
  }));
  for (const wait of NAMES) {
    await checkLater(`context after ${wait}`, async () => {
      const storage = new AsyncLocalStorage();
      const tasks = [1, 2, 3].map((store) => {
        const seen = [];
        return storage.run(store, () => task(storage, [{ wait }, { wait }], seen)).then(() => seen);
      });
      return [await Promise.all(tasks), storage.getStore() ?? 'none'];
    });
  }
  for (let at = 0; at < 150; at++) {
    await checkLater(`contexts side by side ${at}`, async () => {
      const storage = new AsyncLocalStorage();
      return Promise.all(Array.from({ length: 1 + random(5) }, (unused, store) => {
        const seen = [];
        return storage.run(store, () => task(storage, plan(2), seen)).then(() => seen);
      }));
    });
  }
  await checkLater('bound, snapshot, exit and disable', async () => {
    const storage = new AsyncLocalStorage();
    const get = () => storage.getStore() ?? 'none';
    const made = storage.run(1, () => [AsyncLocalStorage.bind(get), AsyncLocalStorage.snapshot(), new AsyncResource('x'), AsyncResource.bind(get)]);
    const [bound, snapshot, resource, boundToo] = made;
    const exited = storage.run(2, () => [storage.exit(get), get()]);
    const all = [bound(), snapshot(get), resource.runInAsyncScope(get), boundToo(), exited, get()];
    storage.enterWith(3);
    all.push(get());
    storage.disable();
    all.push(get());
    return all;
  });
};
