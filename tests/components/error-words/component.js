const thrownBy = (work) => {
  try {
    return work();
  } catch (error) {
    return error.message;
  }
};
const client = { messages: { list: [] }, name: 'x' };
const module_1 = {};
const key = 'create';
let nothing;

class Poller {
  async later() { await null; return this.poll(); }
  get now() { return this.poll(1, '(').then(); }
}

module.exports = {
  name: 'Errors say what was called, and what was no JSON',
  version: '0.0.1',
  type: 'action',
  async run() {
    return {
      called: [
        () => nothing(),
        () => client.send(),
        () => client.messages.create({ a: [1, (2)] }),
        () => client[key](),
        () => client.messages.list[0](),
        () => client?.messages.create(),
        () => client
          .messages
          .sent('1'),
        () => client.name.trim().shout(),
        () => { return (0, module_1.helper)(1); },
        () => new nothing(),
        () => new client.messages(),
        () => new client.name,
        () => new Poller().now,
        () => { const ü = 'é'; nothing(ü); },
        () => (client.name || nothing)(),
        // What cannot be told from the source is not guessed.
        () => [1].map(5),
        () => nothing`text`,
      ].map(thrownBy),
      later: await new Poller().later().catch((error) => error.message),
      read: [() => nothing.name, () => client.none.name, () => null[key], () => { nothing.name = 1; }, () => { null.name = 1; }].map(thrownBy),
      parsed: ['<html><body>Not found</body></html>', '<a>', `{"${'a'.repeat(30)}": é, "${'b'.repeat(30)}": 1}`, '[1] x', "{'a': 1}", '{"a": 1', ''].map((text) => thrownBy(() => JSON.parse(text))),
    };
  },
};
