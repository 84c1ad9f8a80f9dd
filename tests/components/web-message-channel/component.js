// Messages arrive as copies, in order, after the sender goes on.
module.exports = {
  name: 'web-message-channel',
  version: '1.0.0',
  type: 'action',
  async run() {
    const { port1, port2 } = new MessageChannel();
    const seen = [];
    const done = new Promise((resolve) => { port2.onmessage = ({ data }) => { seen.push(data); if (data.last) resolve(); }; });
    port1.postMessage({ n: 1 });
    port1.postMessage({ n: 2, last: true });
    seen.push('sent');
    await done;
    port1.close();
    return seen;
  },
};
