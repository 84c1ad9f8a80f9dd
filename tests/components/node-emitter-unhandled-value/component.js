module.exports = {
  name: 'An error event of a value that is no error says which',
  version: '0.0.1',
  type: 'action',
  async run() {
    const { EventEmitter } = require('events');
    let context;
    try {
      new EventEmitter().emit('error', { reason: 'lost' });
    } catch (error) {
      context = error.context.reason;
    }
    const caught = [];
    new EventEmitter().on('error', (value) => caught.push(value)).emit('error', 'heard');
    setTimeout(() => new EventEmitter().emit('error', `${context} ${caught}`), 1);
    return new Promise((resolve) => setTimeout(resolve, 50));
  },
};
