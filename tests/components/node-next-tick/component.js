module.exports = {
  name: 'nextTick comes before promise jobs, and those before timers',
  version: '0.0.1',
  type: 'action',
  async run() {
    const order = [];
    setTimeout(() => order.push('timeout'), 0);
    setImmediate(() => order.push('immediate'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    order.length = 0;
    await new Promise((resolve) => setTimeout(() => {
      Promise.resolve().then(() => { order.push('promise'); process.nextTick(() => order.push('tick from promise')); }).then(() => order.push('second promise'));
      queueMicrotask(() => order.push('microtask'));
      process.nextTick((...values) => order.push(['tick', ...values]), 1, 2);
      process.nextTick(() => order.push('second tick'));
      order.push('sync');
      setImmediate(resolve);
    }, 1));
    return order;
  },
};
