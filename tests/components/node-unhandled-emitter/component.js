module.exports = {
  name: 'An error event without a listener ends the run with that error',
  version: '0.0.1',
  type: 'action',
  async run() {
    const { EventEmitter } = require('events');
    setTimeout(() => new EventEmitter().emit('error', new Error('lost')), 1);
    return new Promise((resolve) => setTimeout(resolve, 50));
  },
};
