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

// group and decimal separator; least digits in front of a separator; digits of a group that is not the last
const NUMBERS = {
  en: [',', '.'], 'en-IN': [',', '.', 1, 2], 'en-ZA': ['\u00a0', ','], de: ['.', ','], 'de-CH': ['’', '.'], 'de-AT': ['\u00a0', ','], es: ['.', ',', 2], 'es-MX': [',', '.'],
  it: ['.', ',', 2], nl: ['.', ','], pt: ['.', ','], 'pt-PT': ['\u00a0', ',', 2], fr: ['\u202f', ','], sv: ['\u00a0', ','], nb: ['\u00a0', ','],
  no: ['\u00a0', ','], nn: ['\u00a0', ','], fi: ['\u00a0', ','], da: ['.', ','], pl: ['\u00a0', ',', 2], ru: ['\u00a0', ','], uk: ['\u00a0', ','],
  cs: ['\u00a0', ','], sk: ['\u00a0', ','], hu: ['\u00a0', ',', 2], ro: ['.', ','], hr: ['.', ','], el: ['.', ','], tr: ['.', ','], he: [',', '.'],
  id: ['.', ','], ja: [',', '.'], zh: [',', '.'], ko: [',', '.'],
};

// Dates in digits as CLDR writes patterns: `dd` has two digits, `y` all and `yy` two. `md` and `ym` are the date without its year or day where
// nothing is given, `short` is the date style. `join` stands before a time, `clock` between its parts, `hour` is of clocks of 24.
const DATES = {
  en: { date: 'M/d/y', ym: 'M/y', short: 'M/d/yy', join: ', ', cycle: 'h12' },
  'en-GB': { date: 'dd/MM/y', join: ', ', cycle: 'h23' },
  'en-AU': { date: 'dd/MM/y', md: 'd/M', short: 'd/M/yy', join: ', ', cycle: 'h12', periods: ['am', 'pm'] },
  'en-CA': { date: 'y-MM-dd', join: ', ', cycle: 'h12', periods: ['a.m.', 'p.m.'] },
  'en-IE': { date: 'd/M/y', ym: 'MM/y', short: 'dd/MM/y', join: ', ', cycle: 'h23' },
  'en-IN': { date: 'd/M/y', md: 'dd/MM', ym: 'MM/y', short: 'dd/MM/yy', join: ', ', cycle: 'h12', periods: ['am', 'pm'] },
  'en-NZ': { date: 'd/MM/y', md: 'd/M', short: 'dd/MM/y', join: ', ', cycle: 'h12', periods: ['am', 'pm'] },
  'en-ZA': { date: 'y/MM/dd', ym: 'MM/y', join: ', ', cycle: 'h23' },
  cs: { date: 'd. M. y', md: 'd. M.', ym: 'M/y', short: 'dd.MM.yy', join: ' ', hour: 'H', cycle: 'h23' },
  da: { date: 'd.M.y', short: 'dd.MM.y', join: ', ', clock: '.', cycle: 'h23' },
  de: { date: 'd.M.y', md: 'd.M.', ym: 'M/y', short: 'dd.MM.yy', join: ', ', cycle: 'h23' },
  el: { date: 'd/M/y', short: 'd/M/yy', join: ', ', cycle: 'h12', periods: ['π.μ.', 'μ.μ.'] },
  es: { date: 'd/M/y', short: 'd/M/yy', join: ', ', hour: 'H', cycle: 'h23' },
  'es-MX': { date: 'd/M/y', short: 'dd/MM/yy', join: ', ', cycle: 'h12', periods: ['a.m.', 'p.m.'] },
  fi: { date: 'd.M.y', md: 'd.M.', join: ' klo ', clock: '.', hour: 'H', cycle: 'h23' },
  fr: { date: 'dd/MM/y', join: ' ', cycle: 'h23' },
  'fr-CA': { date: 'y-MM-dd', join: ' ', cycle: 'h23' },
  'fr-CH': { date: 'dd.MM.y', md: 'dd.MM.', short: 'dd.MM.yy', join: ' ', cycle: 'h23' },
  he: { date: 'd.M.y', join: ', ', hour: 'H', cycle: 'h23' },
  hr: { date: 'dd. MM. y.', md: 'dd. MM.', ym: 'MM. y.', join: ' ', cycle: 'h23' },
  hu: { date: 'y. MM. dd.', md: 'M. d.', ym: 'y. M.', join: ' ', hour: 'H', cycle: 'h23' },
  id: { date: 'd/M/y', short: 'dd/MM/yy', join: ', ', clock: '.', cycle: 'h23' },
  it: { date: 'dd/MM/y', short: 'dd/MM/yy', join: ', ', cycle: 'h23' },
  ja: { date: 'y/M/d', short: 'y/MM/dd', join: ' ', hour: 'H', cycle: 'h23' },
  ko: { date: 'y. M. d.', md: 'M. d.', ym: 'y. M.', short: 'yy. M. d.', join: ' ', cycle: 'h12', periods: ['오전', '오후'], afterPeriod: ' ' },
  nb: { date: 'd.M.y', md: 'd.M.', short: 'dd.MM.y', join: ', ', cycle: 'h23' },
  nl: { date: 'd-M-y', short: 'dd-MM-y', join: ', ', cycle: 'h23' },
  'nl-BE': { date: 'd/M/y', short: 'd/MM/y', join: ', ', cycle: 'h23' },
  pl: { date: 'd.MM.y', join: ', ', cycle: 'h23' },
  pt: { date: 'dd/MM/y', join: ', ', cycle: 'h23' },
  'pt-PT': { date: 'dd/MM/y', short: 'dd/MM/yy', join: ', ', cycle: 'h23' },
  ro: { date: 'dd.MM.y', join: ', ', cycle: 'h23' },
  ru: { date: 'dd.MM.y', join: ', ', cycle: 'h23' },
  sk: { date: 'd. M. y', md: 'd. M.', ym: 'M/y', join: ' ', hour: 'H', cycle: 'h23' },
  sv: { date: 'y-MM-dd', md: 'd/M', join: ' ', cycle: 'h23' },
  tr: { date: 'dd.MM.y', md: 'd/M', ym: 'MM/y', short: 'd.MM.y', join: ' ', cycle: 'h23' },
  uk: { date: 'dd.MM.y', short: 'dd.MM.yy', join: ', ', cycle: 'h23' },
  zh: { date: 'y/M/d', join: ' ', cycle: 'h23' },
  'zh-HK': { date: 'd/M/y', join: ' ', cycle: 'h12', periods: ['上午', '下午'], afterPeriod: '' },
  'zh-TW': { date: 'y/M/d', join: ' ', cycle: 'h12', periods: ['上午', '下午'], afterPeriod: '' },
};
Object.assign(DATES, { nn: DATES.nb, no: DATES.nb });

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
