module.exports = {
  name: 'A redirect is followed by the platform, handed over, or an error, as asked',
  version: '0.0.1',
  type: 'action',
  async run() {
    const manual = await fetch('https://api.example.com/old', { redirect: 'manual' });
    const followed = await fetch('https://api.example.com/ok');
    const response = Response.redirect('https://example.com/there', 303);
    return {
      manual: [manual.status, manual.headers.get('location'), manual.ok, manual.redirected],
      followed: [followed.status, followed.redirected, followed.url],
      made: [response.status, response.headers.get('location')],
      request: ['follow', 'manual', 'error'].map((redirect) => new Request('https://example.com', { redirect }).redirect),
      wrong: (() => { try { return new Request('https://example.com', { redirect: 'sometimes' }); } catch (error) { return error.name; } })(),
    };
  },
};
