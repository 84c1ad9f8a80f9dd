module.exports = {
  name: 'What an action does besides returning',
  version: '0.0.1',
  type: 'action',
  props: { to: 'string' },
  async run({ steps, $ }) {
    $.export('$summary', `Sent to ${this.to}`);
    $.export('nothing');
    $.send.http({ method: 'POST', url: 'https://example.com/hook', data: { from: steps.trigger.event.id } });
    $.send.email({ subject: 'Hi', text: 'There' });
    $.send.s3({ bucket: 'b', prefix: 'p', payload: { a: 1 } });
    $.send.emit({ event: { x: 1 }, channel: 'c' });
    $.send.sse({ channel: 'events', payload: { y: 2 } });
    await $.respond({ status: 201, body: { ok: true } });
    return { same: this.$ === $ };
  },
};
