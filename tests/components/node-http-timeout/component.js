module.exports = {
  name: 'A request that takes too long says timeout and can be destroyed',
  version: '0.0.1',
  type: 'action',
  async run() {
    const http = require('http');
    return new Promise((resolve) => {
      const request = http.request({ host: 'example.com', timeout: 5 });
      const seen = [];
      // Never ended, so never answered.
      request.on('timeout', () => { seen.push('timeout'); request.destroy(Object.assign(new Error('too slow'), { code: 'ETIMEDOUT' })); });
      request.on('error', (error) => resolve([...seen, error.code]));
    });
  },
};
