const FORMS = {
  headers: () => ({ headers: new Headers({ 'X-One': '1' }), body: 'text' }),
  map: () => ({ headers: new Map([['x-one', 1], ['x-many', ['a', 'b']]]), body: 'text' }),
  pairs: () => ({ headers: [['set-cookie', 'a=1'], ['set-cookie', 'b=2']], body: 'text' }),
  form: () => ({ body: new URLSearchParams({ a: '1 2' }) }),
  decoded: () => ({ headers: { 'Content-Encoding': 'gzip', 'content-type': 'application/xml' }, body: '<a/>' }),
  encoded: () => ({ headers: { 'Content-Encoding': 'gzip' }, body: Buffer.from('bytes') }),
  promise: () => ({ body: Promise.resolve('late') }),
  stream: () => ({ body: new Response('text').body }),
  pipe: () => ({ body: require('stream').Readable.from(['text']) }),
  blob: () => ({ body: new Blob(['text']) }),
  response: () => ({ body: new Response('text') }),
};

module.exports = {
  name: 'A reply is given in any of the usual forms, or refused',
  version: '0.0.1',
  props: { http: { type: '$.interface.http', customResponse: true } },
  run({ form }) { this.http.respond({ status: 200, ...FORMS[form]() }); },
};
