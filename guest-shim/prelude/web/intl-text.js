'use strict';
// Intl.RelativeTimeFormat, Intl.ListFormat and Intl.Collator, in English.
const { resolve, supportedLocalesOf, choose } = internal.lazy('web/intl-locale');
const { NumberFormat } = internal.lazy('web/intl-number');
const { select } = internal.lazy('web/intl-plural');

const UNITS = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];
const SHORT = { second: ['sec.', 'sec.'], minute: ['min.', 'min.'], hour: ['hr.', 'hr.'], day: ['day', 'days'], week: ['wk.', 'wk.'], month: ['mo.', 'mo.'], quarter: ['qtr.', 'qtrs.'], year: ['yr.', 'yr.'] };
const NARROW = { second: 's', minute: 'm', hour: 'h', day: 'd', week: 'w', month: 'mo', quarter: 'q', year: 'y' };
const DAYS = { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' };

class RelativeTimeFormat {
  #settings;
  #numbers = new NumberFormat('en-US');

  constructor(locales, options = undefined) {
    const given = options === undefined ? {} : Object(options);
    this.#settings = {
      locale: resolve(locales),
      style: choose(given, 'style', ['long', 'short', 'narrow'], 'long'),
      numeric: choose(given, 'numeric', ['always', 'auto'], 'always'),
      numberingSystem: 'latn',
    };
  }

  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }

  format(value, unit) { return this.formatToParts(value, unit).map((part) => part.value).join(''); }

  formatToParts(value, unit) {
    const number = Number(value);
    const singular = String(unit).replace(/s$/, '');
    if (!Number.isFinite(number)) throw new RangeError('Invalid time value');
    if (!UNITS.includes(singular)) throw new RangeError(`Invalid unit argument for format() '${String(unit)}'`);
    const { numeric } = this.#settings;
    const word = numeric === 'auto' ? this.#word(number, singular) : undefined;
    if (word !== undefined) return [{ type: 'literal', value: word }];
    const digits = this.#numbers.formatToParts(Math.abs(number));
    const name = this.#name(singular, select(number, digits));
    const isPast = number < 0 || Object.is(number, -0);
    const marked = digits.map((part) => ({ ...part, unit: singular }));
    return isPast ? [...marked, { type: 'literal', value: `${name} ago` }] : [{ type: 'literal', value: 'in ' }, ...marked, { type: 'literal', value: name }];
  }

  #name(unit, plural) {
    const { style } = this.#settings;
    if (style === 'narrow') return NARROW[unit];
    if (style === 'short') return ` ${SHORT[unit][plural === 'one' ? 0 : 1]}`;
    return ` ${unit}${plural === 'one' ? '' : 's'}`;
  }

  #word(number, unit) {
    if (unit === 'second') return number === 0 ? 'now' : undefined;
    if (unit === 'day') return DAYS[number];
    const { style } = this.#settings;
    const name = style === 'long' || unit === 'minute' || unit === 'hour' ? unit : SHORT[unit][0];
    if (number === 0) return `this ${name}`;
    if (unit === 'minute' || unit === 'hour') return undefined;
    return { '-1': `last ${name}`, 1: `next ${name}` }[number];
  }

  resolvedOptions() { return { ...this.#settings }; }
  get [Symbol.toStringTag]() { return 'Intl.RelativeTimeFormat'; }
}

class ListFormat {
  #settings;

  constructor(locales, options = undefined) {
    const given = options === undefined ? {} : Object(options);
    this.#settings = {
      locale: resolve(locales),
      type: choose(given, 'type', ['conjunction', 'disjunction', 'unit'], 'conjunction'),
      style: choose(given, 'style', ['long', 'short', 'narrow'], 'long'),
    };
  }

  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }

  format(list) { return this.formatToParts(list).map((part) => part.value).join(''); }

  formatToParts(list) {
    const items = [...list];
    for (const item of items) if (typeof item !== 'string') throw new TypeError('Iterable yielded ' + String(item) + ' which is not a string');
    return items.flatMap((value, at) => {
      const separator = at === 0 ? [] : [{ type: 'literal', value: this.#separator(items.length, at === items.length - 1) }];
      return [...separator, { type: 'element', value }];
    });
  }

  #separator(count, isLast) {
    const { type, style } = this.#settings;
    if (type === 'unit') return style === 'narrow' ? ' ' : ', ';
    if (!isLast) return ', ';
    if (type === 'conjunction' && style === 'narrow') return ', ';
    const word = type === 'disjunction' ? 'or' : style === 'long' ? 'and' : '&';
    return count === 2 ? ` ${word} ` : `, ${word} `;
  }

  resolvedOptions() { return { ...this.#settings }; }
  get [Symbol.toStringTag]() { return 'Intl.ListFormat'; }
}

// The order of the Unicode collation for what is common: space, punctuation, symbols, digits, letters.
const PUNCTUATION = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
const rank = (character) => {
  if (/\s/.test(character)) return '0';
  const at = PUNCTUATION.indexOf(character);
  if (at >= 0) return `1${String.fromCharCode(0x100 + at)}`;
  if (/\d/.test(character)) return `3${character}`;
  return /\p{L}/u.test(character) ? `4${character}` : `2${character}`;
};

const compareTexts = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const marksOf = (text) => text.replace(/[^\p{M}]+/gu, ' ');
const baseOf = (text) => text.replace(/\p{M}+/gu, '').toLowerCase().replaceAll('ß', 'ss');

// Runs of digits compare by what they are worth.
const comparePrimary = (a, b, isNumeric) => {
  const pattern = isNumeric ? /\d+|./gsu : /./gsu;
  const [left, right] = [a.match(pattern) ?? [], b.match(pattern) ?? []];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    if (isNumeric && /^\d/.test(left[at]) && /^\d/.test(right[at])) {
      const [x, y] = [left[at], right[at]].map((digits) => BigInt(digits));
      if (x !== y) return x < y ? -1 : 1;
      continue;
    }
    const order = compareTexts(rank(left[at]), rank(right[at]));
    if (order !== 0) return order;
  }
  return Math.sign(left.length - right.length);
};

const compareCase = (a, b, upperFirst) => {
  const [left, right] = [[...a], [...b]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    // Other letters of one rank are not cases of each other.
    if (left[at] === right[at] || left[at].toLowerCase() !== right[at].toLowerCase()) continue;
    const isLower = left[at] === left[at].toLowerCase();
    return isLower === upperFirst ? 1 : -1;
  }
  return 0;
};

class Collator {
  #settings;
  #compare;

  constructor(locales, options = undefined) {
    const given = options === undefined ? {} : Object(options);
    this.#settings = {
      locale: resolve(locales),
      usage: choose(given, 'usage', ['sort', 'search'], 'sort'),
      sensitivity: choose(given, 'sensitivity', ['base', 'accent', 'case', 'variant'], 'variant'),
      ignorePunctuation: Boolean(given.ignorePunctuation),
      collation: 'default',
      numeric: Boolean(given.numeric),
      caseFirst: choose(given, 'caseFirst', ['upper', 'lower', 'false'], 'false'),
    };
  }

  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }

  get compare() {
    this.#compare ??= (a, b) => this.#order(String(a), String(b));
    return this.#compare;
  }

  #order(first, second) {
    const { sensitivity, ignorePunctuation, numeric, caseFirst } = this.#settings;
    if (first === second) return 0;
    const prepare = (text) => (ignorePunctuation ? text.replace(/[\p{P}\s]+/gu, '') : text).normalize('NFD');
    const [a, b] = [prepare(first), prepare(second)];
    const base = comparePrimary(baseOf(a), baseOf(b), numeric);
    if (base !== 0 || sensitivity === 'base') return base;
    const accents = sensitivity === 'case' ? 0 : compareTexts(marksOf(a), marksOf(b));
    if (accents !== 0 || sensitivity === 'accent') return accents;
    return compareCase(a, b, caseFirst === 'upper') || compareTexts(a, b);
  }

  resolvedOptions() { return { ...this.#settings }; }
  get [Symbol.toStringTag]() { return 'Intl.Collator'; }
}
const callable = new Proxy(Collator, { apply: (Class, _, args) => new Class(...args) });
Object.defineProperty(Collator.prototype, 'constructor', { value: callable, writable: true, configurable: true });

return { RelativeTimeFormat, ListFormat, Collator: callable };
