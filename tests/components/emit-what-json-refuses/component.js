module.exports = {
  name: 'What JSON cannot hold is an error where it is emitted',
  version: '0.0.1',
  run(event) {
    this.$emit('before');
    if (event.kind === 'bigint') this.$emit({ n: 1n });
    const loop = {};
    loop.self = loop;
    this.$emit(loop);
  },
};
