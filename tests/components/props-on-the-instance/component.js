module.exports = {
  name: 'Values of props are properties of the instance',
  version: '0.0.1',
  props: { text: 'string', count: 'integer', flag: 'boolean', list: 'string[]', data: 'object', missing: { type: 'string', optional: true }, base: '$.airtable.baseId' },
  run() {
    this.text += '!';
    this.added = 1;
    this.$emit({ all: { ...this, $emit: undefined }, isMissing: this.missing === undefined, hasMissing: 'missing' in this });
  },
};
