const http = require('http');
const https = require('https');

module.exports = {
  name: 'Agents with any options are accepted, and requests leave as always',
  version: '0.0.1',
  type: 'action',
  async run() {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 5, rejectUnauthorized: false });
    const get = (options) => new Promise((resolve, reject) => {
      https.get('https://api.example.com/a', options, (response) => {
        response.setEncoding('utf8');
        let text = '';
        response.on('data', (chunk) => { text += chunk; }).on('end', () => resolve(text));
      }).on('error', reject);
    });
    const first = await get({ agent });
    const second = await get({ agent: false });
    agent.destroy();
    return { first, second, options: agent.options.keepAlive, shared: http.globalAgent instanceof http.Agent };
  },
};
