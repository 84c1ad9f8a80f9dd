// Fetch sends text, JSON, forms and bytes.
module.exports = {
  name: 'web-fetch-post',
  version: '1.0.0',
  type: 'action',
  async run() {
    const send = async (path, body) => (await fetch('https://api.example.com/' + path, { method: 'POST', body })).status;
    return [await send('text', 'häl'), await send('json', JSON.stringify({ a: 1 })), await send('form', new URLSearchParams({ a: 'b c', d: 'é' })), await send('bytes', new TextEncoder().encode('bytes')), await send('blob', new Blob(['bl', 'ob']))];
  },
};
