const http = require('http');
const { Readable } = require('stream');
const { pipeline } = require('stream/promises');

module.exports = {
  name: 'A request whose body takes time leaves in pieces, a small one whole',
  version: '0.0.1',
  type: 'action',
  async run() {
    const send = (work, headers) => new Promise((resolve, reject) => {
      const request = http.request('http://api.example.com/upload', { method: 'POST', headers }, (response) => {
        let text = '';
        response.on('data', (chunk) => { text += chunk; }).on('end', () => resolve([response.statusCode, text]));
      });
      request.on('error', reject);
      work(request).catch(reject);
    });
    async function* lines() {
      for (let at = 0; at < 4; at++) {
        await new Promise((resolve) => { setTimeout(resolve, 5); });
        yield `line ${at}\n`;
      }
    }
    const big = 'x'.repeat(70000);
    return {
      slow: await send((request) => pipeline(Readable.from(lines()), request)),
      whole: await send(async (request) => { request.write('a'); request.end('b'); }),
      large: await send(async (request) => {
        for (let at = 0; at < 3; at++) if (!request.write(big)) await new Promise((resolve) => { request.once('drain', resolve); });
        request.end('.');
      }, { 'content-length': 210001 }),
    };
  },
};
