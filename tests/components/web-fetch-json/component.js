// Fetch gets JSON, with status and headers.
module.exports = {
  name: 'web-fetch-json',
  version: '1.0.0',
  type: 'action',
  async run() {
    const response = await fetch('https://api.example.com/items?page=2', { headers: { authorization: 'Bearer t' } });
    return [response.ok, response.status, response.headers.get('Content-Type'), response.url, response.type, await response.json()];
  },
};
