module.exports = {
  name: 'What is no promise is not waited for, and what a promise would wait for is',
  version: '0.0.1',
  type: 'action',
  run({ steps, $ }) {
    switch (steps.kind) {
      case 'object': return { then: 'a word', list: [1] };
      case 'thenable': return { then(resolve) { resolve([1, 2]); } };
      case 'thenable that fails': return { then(_, reject) { reject(new Error('later')); } };
      case 'promise': return Promise.resolve({ a: 1 });
      case 'getter': return { get then() { throw new Error('at once'); } };
      case 'function': return Object.assign(() => 1, { then() {} });
      case 'left behind':
        Promise.reject(new Error('nothing handles it'));
        return { fine: true };
      default:
        $.respond({ status: 202 });
        return this.$ === $;
    }
  },
};
