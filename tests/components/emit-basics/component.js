module.exports = {
  name: 'Emit basics',
  version: '0.0.1',
  run(event) {
    this.$emit({ hello: event.name }, { id: 7, summary: `Hello ${event.name}`, ts: 1700000000000 });
    this.$emit([1, 2, 3], { name: 'numbers' });
  },
};
