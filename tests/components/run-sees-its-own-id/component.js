module.exports = {
  name: 'The environment holds the id of the component and nothing else',
  version: '0.0.1',
  run() { this.$emit(process.env); },
};
