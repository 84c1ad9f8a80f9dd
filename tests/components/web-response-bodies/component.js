// Responses are read in every form, once.
module.exports = {
  name: 'web-response-bodies',
  version: '1.0.0',
  type: 'action',
  async run() {
    const response = Response.json({ a: [1] }, { status: 201, headers: { x: 'y' } });
    const copy = response.clone();
    const first = await response.json();
    let again;
    try {
      await response.text();
    } catch (error) {
      again = error.name;
    }
    return [first, await copy.text(), copy.status, copy.ok, copy.headers.get('content-type'), again, response.bodyUsed, Response.redirect('https://a.example/', 307).status, Response.error().type];
  },
};
