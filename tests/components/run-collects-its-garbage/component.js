// References to what loading left are not counted, and the collector counts on.
const kept = { list: [], name: 'kept', text: 'a'.repeat(2000) };
const byName = new Map([['first', kept]]);
let word = 'constant';

class Node {
  constructor(id) {
    this.id = id;
    this.self = this;
    this.home = kept;
    this.data = new Array(200).fill(id);
  }

  label() {
    return kept.name + this.id;
  }
}

module.exports = {
  name: 'Garbage that refers to what loading left is collected, and nothing else is',
  version: '0.0.1',
  type: 'action',
  run({ steps: { pairs } }) {
    for (let id = 0; id < pairs; id++) {
      const [one, other] = [new Node(id), new Node(-id)];
      one.other = other;
      other.other = one;
      if (id % 5000 === 0) {
        kept.list.push(one);
        byName.set(`node ${id}`, one);
      }
    }
    const before = word;
    word += '!';
    const after = word;
    word = undefined;
    delete kept.text;
    kept.extra = {};
    kept.name += '-';
    return {
      areWhole: kept.list.every((node) => node.self === node && node.other.other === node && node.home === kept),
      labels: kept.list.map((node) => node.label()),
      words: [before, after],
      names: Object.keys(kept),
      inherited: [kept.extra.text, {}.extra],
      size: byName.size,
    };
  },
};
