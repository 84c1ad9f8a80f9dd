module.exports = {
  name: 'timers and timers/promises',
  version: '0.0.1',
  type: 'action',
  async run() {
    const timers = require('timers');
    const { setTimeout: wait, setImmediate: soon } = require('timers/promises');
    const order = [];
    timers.setTimeout(() => order.push('timeout'), 2);
    const cancelled = timers.setTimeout(() => order.push('never'), 1);
    timers.clearTimeout(cancelled);
    await wait(8);
    const controller = new AbortController();
    const aborted = wait(10000, null, { signal: controller.signal }).catch((error) => error.name);
    controller.abort();
    return { order, value: await wait(1, 'v'), soon: await soon('s'), aborted: await aborted };
  },
};
