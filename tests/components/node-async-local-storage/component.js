module.exports = {
  name: 'AsyncLocalStorage keeps its store across callbacks and awaits',
  version: '0.0.1',
  type: 'action',
  async run() {
    const { AsyncLocalStorage, AsyncResource } = require('async_hooks');
    const storage = new AsyncLocalStorage();
    const out = {};
    await storage.run(1, async () => {
      out.sync = storage.getStore();
      await new Promise((resolve) => setTimeout(() => { out.timer = storage.getStore(); resolve(); }, 1));
      out.awaited = storage.getStore();
      await Promise.resolve().then(() => { out.then = storage.getStore(); });
      await new Promise((resolve) => process.nextTick(() => { out.tick = storage.getStore(); resolve(); }));
      out.nested = [storage.run(2, () => storage.getStore()), storage.getStore()];
    });
    out.after = storage.getStore() ?? null;
    out.bound = storage.run(5, () => AsyncResource.bind(() => storage.getStore()))();
    return out;
  },
};
