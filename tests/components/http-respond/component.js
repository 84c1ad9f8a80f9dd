module.exports = {
  name: 'A source answers the request itself',
  version: '0.0.1',
  props: { http: { type: '$.interface.http', customResponse: true } },
  async run(event) {
    const bodies = { text: 'plain', object: { a: 1 }, buffer: Buffer.from('bytes'), nothing: undefined, number: 5 };
    const reply = { status: event.status, headers: { 'X-Many': ['a', 'b'], 'x-number': 1 }, body: bodies[event.kind] };
    await null;
    const isFirst = this.http.respond(reply);
    const isSecond = this.http.respond({ status: 500, body: 'late' });
    this.$emit([isFirst, isSecond]);
  },
};
