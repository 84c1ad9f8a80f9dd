module.exports = {
  name: 'https.request sends a body and reads the answer',
  version: '0.0.1',
  type: 'action',
  async run() {
    const https = require('https');
    const events = [];
    const body = JSON.stringify({ name: 'thing' });
    return new Promise((resolve, reject) => {
      const request = https.request({ hostname: 'api.example.com', path: '/items?x=1', method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) } }, (response) => {
        let data = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => { data += chunk; });
        response.on('end', () => events.push('end'));
        request.on('close', () => { events.push('close'); resolve({ status: response.statusCode, message: response.statusMessage, type: response.headers['content-type'], cookie: response.headers['set-cookie'], body: JSON.parse(data), events, header: request.getHeader('content-type') }); });
      });
      for (const name of ['socket', 'finish', 'response']) request.on(name, () => events.push(name));
      request.on('error', reject);
      request.write(body);
      request.end();
    });
  },
};
