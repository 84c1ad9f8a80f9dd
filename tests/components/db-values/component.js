module.exports = {
  name: 'The store takes what JSON can hold and gives it back',
  version: '0.0.1',
  props: { db: '$.service.db' },
  run() {
    const { get, set } = this.db;
    set('date', new Date(0));
    set('nested', { a: [1, { b: undefined, c: null }] });
    set('gone', undefined);
    set('number', NaN);
    this.$emit({ date: get('date'), nested: get('nested'), gone: get('gone') === undefined, never: get('never') === undefined, number: get('number'), old: get('old'), keys: Object.keys(this.db) });
  },
};
