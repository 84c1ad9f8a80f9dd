module.exports = {
  name: 'What is still pending when a run ends is cancelled and noted',
  version: '0.0.1',
  run() {
    setTimeout(() => this.$emit('never'), 1000);
    setTimeout(() => this.$emit('nor this'), 1000).unref();
  },
};
