// Data: URLs are answered without a request.
module.exports = {
  name: 'web-fetch-data-url',
  version: '1.0.0',
  type: 'action',
  async run() {
    const response = await fetch('data:text/plain;base64,aGVsbG8=');
    return [response.headers.get('content-type'), await response.text(), await (await fetch('data:,a%20b')).text()];
  },
};
