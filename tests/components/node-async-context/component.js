const { AsyncLocalStorage } = require('async_hooks');
const storage = new AsyncLocalStorage();

module.exports = {
  name: 'Requests side by side keep their contexts apart, through http, fetch, streams and emitters',
  version: '0.0.1',
  type: 'action',
  async run() {
    const https = require('https');
    const seen = [];
    const note = (what) => seen.push(`${what} ${storage.getStore()}`);
    const one = storage.run('one', async () => {
      const response = await fetch('https://api.example.com/1');
      note('fetch');
      await response.json();
      note('json');
    });
    const two = storage.run('two', () => new Promise((resolve) => {
      https.get('https://api.example.com/2', (response) => {
        note('response');
        response.on('data', () => {});
        response.on('end', () => { note('end'); resolve(); });
      });
    }));
    await Promise.all([one, two]);
    return { seen: seen.sort(), after: storage.getStore() ?? null };
  },
};
