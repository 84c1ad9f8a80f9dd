// Time passes, and marks and measures tell how much.
module.exports = {
  name: 'web-performance',
  version: '1.0.0',
  type: 'action',
  async run() {
    const before = performance.now();
    performance.mark('start');
    await new Promise((resolve) => setTimeout(resolve, 5));
    const measure = performance.measure('wait', 'start');
    return [performance.now() > before, measure.duration >= 4, performance.getEntriesByName('wait').length, Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000];
  },
};
