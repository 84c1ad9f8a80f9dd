// What a component does to its globals does not break the platform.
module.exports = {
  name: 'web-globals-replaced',
  version: '1.0.0',
  type: 'action',
  async run() {
    globalThis.Headers = undefined;
    delete globalThis.URL;
    globalThis.TextDecoder = class { decode() { throw new Error('not mine'); } };
    Uint8Array.prototype.slice = () => { throw new Error('not mine either'); };
    const response = await fetch('https://api.example.com/x?y=1');
    return [response.status, (await response.text()).length];
  },
};
