'use strict';
// Intl.PluralRules, RelativeTimeFormat, ListFormat, Collator, and localeCompare.
const WORDS = ['a', 'A', 'b', 'ä', 'Z', 'z', 'apple', 'Apple', 'äpple', 'banana', 'item 2', 'item 10', 'item2', '10', '9', '', ' ', '-', '_', 'résumé', 'resume', 'Resume', 'cote', 'côte', 'coté', 'ß', 'ss', '!', '$1'];

module.exports = ({ random, pick, some, check }) => {
  for (const value of [0, 1, 2, 3, 4, 10, 11, 12, 13, 21, 22, 23, 101, 111, 112, 1.5, -1]) {
    check(`plural ${value}`, () => [new Intl.PluralRules('en-US').select(value), new Intl.PluralRules('en-US', { type: 'ordinal' }).select(value), new Intl.PluralRules('en', { minimumFractionDigits: 1 }).select(value)]);
  }
  for (let at = 0; at < 300; at++) {
    const [value, unit] = [pick([-10, -2, -1, -0, 0, 1, 2, 5.5, 1000]), pick(['second', 'minutes', 'hour', 'day', 'days', 'week', 'month', 'quarter', 'year'])];
    const options = { numeric: pick(['always', 'auto']), style: pick(['long', 'short', 'narrow']) };
    check(`relative ${Object.is(value, -0) ? '-0' : value} ${unit} ${JSON.stringify(options)}`, () => new Intl.RelativeTimeFormat('en-US', options).format(value, unit));
  }
  check('relative of an unknown unit', () => new Intl.RelativeTimeFormat('en').format(1, 'fortnight'));
  for (let at = 0; at < 100; at++) {
    const [list, options] = [some(['x', 'y', 'z'], 4), { type: pick(['conjunction', 'disjunction', 'unit']), style: pick(['long', 'short', 'narrow']) }];
    check(`list ${list} ${JSON.stringify(options)}`, () => new Intl.ListFormat('en-US', options).format(list));
  }
  for (let at = 0; at < 300; at++) {
    const [a, b] = [pick(WORDS), pick(WORDS)];
    const options = pick([undefined, undefined, { numeric: true }, { sensitivity: 'base' }, { sensitivity: 'accent' }, { caseFirst: 'upper' }]);
    check(`compare ${JSON.stringify([a, b])} ${JSON.stringify(options)}`, () => a.localeCompare(b, 'en-US', options));
  }
  check('sort', () => [...WORDS].sort(new Intl.Collator('en').compare));
  check('locales', () => [Intl.getCanonicalLocales(['EN-us', 'de']), Intl.DateTimeFormat.supportedLocalesOf(['en-US'])]);
};
