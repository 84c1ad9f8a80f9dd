module.exports = {
  name: 'An exception in a callback ends the run',
  version: '0.0.1',
  type: 'action',
  async run() {
    process.nextTick(() => { throw new Error('from a tick'); });
    return new Promise((resolve) => setTimeout(resolve, 50));
  },
};
