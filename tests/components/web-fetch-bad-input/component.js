// What cannot be requested is refused at once.
module.exports = {
  name: 'web-fetch-bad-input',
  version: '1.0.0',
  type: 'action',
  async run() {
    const attempt = (...args) => fetch(...args).then(() => 'sent', (error) => error.name);
    return [await attempt('/relative'), await attempt('https://u:p@example.com/'), await attempt('https://example.com/', { body: 'x' }), await attempt('ftp://example.com/'), await attempt('https://example.com/', { method: 'TRACE' })];
  },
};
