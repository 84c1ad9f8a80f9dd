module.exports = {
  name: 'Modules are the same with and without node:',
  version: '0.0.1',
  type: 'action',
  async run() {
    return [require('fs') === require('node:fs'), require('fs/promises') === require('node:fs').promises, require('stream/promises') === require('stream').promises, typeof require('node:module').createRequire(__filename)('crypto').createHash, Buffer === require('buffer').Buffer];
  },
};
