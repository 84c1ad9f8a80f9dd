const app = { type: 'app', app: 'shop', methods: { get broken() { throw new TypeError('no such method'); } } };

module.exports = {
  name: 'It loads, and each run tells why it has no instance',
  version: '0.0.1',
  props: { shop: app },
  run() {},
};
