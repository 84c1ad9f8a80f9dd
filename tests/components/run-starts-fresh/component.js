let calls = 0;
const seen = [];
leaked = 'sloppy mode allows it';
module.exports = {
  name: 'Every run starts from the state after loading',
  version: '0.0.1',
  run(event) {
    calls += 1;
    seen.push(event.n);
    globalThis.last = event.n;
    this.$emit({ calls, seen, leaked, random: Math.random() !== Math.random() });
  },
};
