module.exports = {
  name: 'The value of an action is what JSON makes of it',
  version: '0.0.1',
  type: 'action',
  async run({ steps, $ }) {
    switch (steps.kind) {
      case 'nothing': return undefined;
      case 'date': return new Date(0);
      case 'exit': return $.flow.exit('enough');
      case 'thenable': return { then(resolve) { resolve([1, 2]); } };
      case 'throws': throw Object.assign(new RangeError('too far'), { code: 'E_FAR' });
      case 'rejects-text': throw 'only text';
      default: return steps;
    }
  },
};
