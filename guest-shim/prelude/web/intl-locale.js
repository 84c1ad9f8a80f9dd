'use strict';
// Locales. Text is English everywhere; what other locales change here is how numbers and numeric dates are written.
const TAG = /^[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|\d{3}))?((-[a-z0-9]{5,8}|-\d[a-z0-9]{3})*)(-[a-z0-9]-[a-z0-9-]+)*$/i;

const canonicalize = (tag) => {
  const given = String(tag);
  if (!TAG.test(given)) throw new RangeError(`Incorrect locale information provided`);
  return given.split('-').map((part, at) => {
    if (at === 0) return part.toLowerCase();
    if (part.length === 4 && /^[a-z]+$/i.test(part)) return part[0].toUpperCase() + part.slice(1).toLowerCase();
    return part.length === 2 && at < 3 ? part.toUpperCase() : part.toLowerCase();
  }).join('-');
};

const getCanonicalLocales = (locales) => {
  if (locales === undefined) return [];
  const list = typeof locales === 'string' || locales instanceof Locale ? [locales] : [...Array.from(Object(locales))];
  for (const item of list) if (typeof item !== 'string' && (typeof item !== 'object' || item === null)) throw new TypeError('Language ID should be string or object.');
  return [...new Set(list.map(canonicalize))];
};

class Locale {
  #tag;
  constructor(tag, options = {}) {
    if (typeof tag !== 'string' && !(tag instanceof Locale)) throw new TypeError('First argument to Intl.Locale constructor can\'t be empty or missing');
    const parts = canonicalize(tag).split('-');
    if (options?.language !== undefined) parts[0] = String(options.language);
    if (options?.region !== undefined) parts.splice(1, parts[1]?.length === 2 ? 1 : 0, String(options.region));
    this.#tag = canonicalize(parts.join('-'));
  }
  get baseName() { return this.#tag.replace(/-[a-z0-9]-.*$/i, ''); }
  get language() { return this.#tag.split('-')[0]; }
  get script() { return this.baseName.split('-').find((part, at) => at > 0 && part.length === 4); }
  get region() { return this.baseName.split('-').find((part, at) => at > 0 && /^([A-Z]{2}|\d{3})$/.test(part)); }
  maximize() { return this; }
  minimize() { return this; }
  toString() { return this.#tag; }
  get [Symbol.toStringTag]() { return 'Intl.Locale'; }
}

// group and decimal separator; least digits in front of a separator; what stands before % and a currency
const NUMBERS = {
  en: [',', '.'], de: ['.', ','], 'de-CH': ['’', '.'], 'de-AT': ['\u00a0', ','], es: ['.', ',', 2], it: ['.', ','], nl: ['.', ','], pt: ['.', ','],
  'pt-PT': ['\u00a0', ',', 2], fr: ['\u202f', ','], sv: ['\u00a0', ','], nb: ['\u00a0', ','], fi: ['\u00a0', ','], da: ['.', ','], pl: ['\u00a0', ',', 2],
  ru: ['\u00a0', ','], uk: ['\u00a0', ','], cs: ['\u00a0', ','], tr: ['.', ','], ja: [',', '.'], zh: [',', '.'], ko: [',', '.'], 'es-MX': [',', '.'],
};

// order and separator of numeric dates, whether two digits are written for {}, the join to a time, and the hour cycle
const DATES = {
  en: { order: 'mdy', separator: '/', join: ', ', cycle: 'h12' },
  'en-GB': { order: 'dmy', separator: '/', isPadded: true, join: ', ', cycle: 'h23' },
  'en-AU': { order: 'dmy', separator: '/', isPadded: true, join: ', ', cycle: 'h12', periods: ['am', 'pm'] },
  'en-CA': { order: 'ymd', separator: '-', isPadded: true, join: ', ', cycle: 'h12', periods: ['a.m.', 'p.m.'] },
  sv: { order: 'ymd', separator: '-', isPadded: true, join: ' ', cycle: 'h23' },
  de: { order: 'dmy', separator: '.', join: ', ', cycle: 'h23' },
  fr: { order: 'dmy', separator: '/', isPadded: true, join: ' ', cycle: 'h23' },
  es: { order: 'dmy', separator: '/', join: ', ', cycle: 'h23' },
  it: { order: 'dmy', separator: '/', join: ', ', cycle: 'h23' },
  pt: { order: 'dmy', separator: '/', isPadded: true, join: ', ', cycle: 'h23' },
};

const find = (table, locale) => table[locale] ?? table[locale.split('-')[0]];

// The locale that is used of those asked for.
const resolve = (locales) => {
  const asked = getCanonicalLocales(locales).map((tag) => tag.replace(/-u-.*$/, ''));
  return asked.find((tag) => find(NUMBERS, tag) !== undefined) ?? 'en-US';
};

const supportedLocalesOf = (locales) => getCanonicalLocales(locales).filter((tag) => find(NUMBERS, tag) !== undefined);

// One of `choices`, or an error as the standard has it.
const choose = (options, name, choices, otherwise) => {
  const value = options[name];
  if (value === undefined) return otherwise;
  if (!choices.includes(String(value))) throw new RangeError(`Value ${String(value)} out of range for Intl options property ${name}`);
  return String(value);
};

return {
  Locale, getCanonicalLocales, resolve, supportedLocalesOf, choose,
  numbersOf: (locale) => find(NUMBERS, locale) ?? NUMBERS.en,
  datesOf: (locale) => find(DATES, locale) ?? DATES.en,
};
