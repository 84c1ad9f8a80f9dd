// Plurals, lists, relative times and order follow English.
module.exports = {
  name: 'web-intl-words',
  version: '1.0.0',
  type: 'action',
  async run() {
    const ordinal = new Intl.PluralRules('en-US', { type: 'ordinal' });
    const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
    return [
      [1, 2, 3, 4, 11, 21].map((value) => ordinal.select(value)), relative.format(-1, 'day'), relative.format(3, 'hours'), new Intl.ListFormat('en', { type: 'disjunction' }).format(['a', 'b', 'c']),
      ['b', 'Ä', 'a', 'B', 'A'].sort((a, b) => a.localeCompare(b)), ['item 10', 'item 9'].sort(new Intl.Collator('en', { numeric: true }).compare),
    ];
  },
};
