module.exports = {
  name: 'Wrong arguments raise Node\'s errors',
  version: '0.0.1',
  type: 'action',
  async run() {
    const code = (work) => { try { work(); return 'none'; } catch (error) { return error.code; } };
    return [
      code(() => Buffer.from(null)), code(() => require('path').join(5)), code(() => require('util').promisify(5)), code(() => Buffer.from('x', 'nope')), code(() => require('url').parse(undefined)), code(() => process.nextTick(5)),
      code(() => require('crypto').randomBytes(-1)), code(() => require('crypto').createHash('md5').update(5)), code(() => require('zlib').gzipSync({})), code(() => require('no-such-module')),
    ];
  },
};
