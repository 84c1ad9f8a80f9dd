module.exports = {
  name: 'util.promisify and callbackify, also of setTimeout',
  version: '0.0.1',
  type: 'action',
  async run() {
    const util = require('util');
    const started = Date.now();
    const waited = await util.promisify(setTimeout)(5, 'done');
    const double = util.promisify((n, callback) => (n < 0 ? callback(new Error('negative')) : callback(null, n * 2)));
    const failed = await double(-1).catch((error) => error.message);
    const called = await new Promise((resolve) => util.callbackify(async (n) => n + 1)(41, (error, value) => resolve([error, value])));
    return { waited, isLater: Date.now() - started >= 4, doubled: await double(21), failed, called };
  },
};
