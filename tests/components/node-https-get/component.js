module.exports = {
  name: 'https.get follows nothing and expands nothing by itself',
  version: '0.0.1',
  type: 'action',
  async run() {
    const get = (module, ...args) => new Promise((resolve, reject) => {
      module.get(...args, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve([response.statusCode, response.headers.location ?? null, Buffer.concat(chunks).toString()]));
      }).on('error', reject);
    });
    return [await get(require('https'), 'https://example.com/old'), await get(require('http'), new URL('http://example.com:8080/page?q=a b'), { headers: { Accept: '*/*' } })];
  },
};
