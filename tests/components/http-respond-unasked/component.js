module.exports = {
  name: 'A source whose requests were answered already says so',
  version: '0.0.1',
  props: { http: '$.interface.http' },
  run() { this.http.respond({ status: 201, body: 'too late' }); },
};
