'use strict';
// Intl.NumberFormat.
const { resolve, supportedLocalesOf, choose, numbersOf } = internal.lazy('web/intl-locale');
const decimals = internal.lazy('web/intl-decimal');
const { select } = internal.lazy('web/intl-plural');

const NO_MINOR = new Set(['BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF']);
const THREE_MINOR = new Set(['BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND']);
const SYMBOLS = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', CNY: 'CN¥', INR: '₹', KRW: '₩', BRL: 'R$', CAD: 'CA$', AUD: 'A$', NZD: 'NZ$', HKD: 'HK$', MXN: 'MX$', TWD: 'NT$', ILS: '₪', VND: '₫', XAF: 'FCFA', XOF: 'F\u202fCFA', XPF: 'CFPF', PHP: '₱' };
const NARROW = { ...SYMBOLS, CNY: '¥', CAD: '$', AUD: '$', NZD: '$', HKD: '$', MXN: '$', TWD: '$', RUB: '₽', UAH: '₴', TRY: '₺', PLN: 'zł', CZK: 'Kč', SEK: 'kr', NOK: 'kr', DKK: 'kr', NGN: '₦', SGD: '$', CLP: '$', COP: '$', ARS: '$', HUF: 'Ft', GEL: '₾', KZT: '₸' };
const CURRENCY_NAMES = { USD: ['US dollar', 'US dollars'], EUR: ['euro', 'euros'], GBP: ['British pound', 'British pounds'], JPY: ['Japanese yen', 'Japanese yen'], CAD: ['Canadian dollar', 'Canadian dollars'], AUD: ['Australian dollar', 'Australian dollars'], CHF: ['Swiss franc', 'Swiss francs'], CNY: ['Chinese yuan', 'Chinese yuan'], INR: ['Indian rupee', 'Indian rupees'], SEK: ['Swedish krona', 'Swedish kronor'] };
// [short, narrow, long one, long other]; a leading character that is no letter is written without a space
const UNITS = {
  byte: [' byte', 'B', ' byte', ' bytes'], kilobyte: [' kB', 'kB', ' kilobyte', ' kilobytes'], megabyte: [' MB', 'MB', ' megabyte', ' megabytes'], gigabyte: [' GB', 'GB', ' gigabyte', ' gigabytes'], terabyte: [' TB', 'TB', ' terabyte', ' terabytes'],
  bit: [' bit', 'bit', ' bit', ' bits'], millisecond: [' ms', 'ms', ' millisecond', ' milliseconds'], second: [' sec', 's', ' second', ' seconds'], minute: [' min', 'm', ' minute', ' minutes'], hour: [' hr', 'h', ' hour', ' hours'],
  day: [' day', 'd', ' day', ' days'], week: [' wk', 'w', ' week', ' weeks'], month: [' mth', 'm', ' month', ' months'], year: [' yr', 'y', ' year', ' years'],
  meter: [' m', 'm', ' meter', ' meters'], kilometer: [' km', 'km', ' kilometer', ' kilometers'], centimeter: [' cm', 'cm', ' centimeter', ' centimeters'], millimeter: [' mm', 'mm', ' millimeter', ' millimeters'], mile: [' mi', 'mi', ' mile', ' miles'], foot: [' ft', '′', ' foot', ' feet'], inch: [' in', '″', ' inch', ' inches'],
  gram: [' g', 'g', ' gram', ' grams'], kilogram: [' kg', 'kg', ' kilogram', ' kilograms'], pound: [' lb', '#', ' pound', ' pounds'], ounce: [' oz', 'oz', ' ounce', ' ounces'], liter: [' L', 'L', ' liter', ' liters'], milliliter: [' mL', 'mL', ' milliliter', ' milliliters'],
  celsius: ['°C', '°C', ' degree Celsius', ' degrees Celsius'], fahrenheit: ['°F', '°', ' degree Fahrenheit', ' degrees Fahrenheit'], percent: ['%', '%', ' percent', ' percent'], degree: [' deg', '°', ' degree', ' degrees'],
  'kilometer-per-hour': [' km/h', 'km/h', ' kilometer per hour', ' kilometers per hour'], 'mile-per-hour': [' mph', 'mph', ' mile per hour', ' miles per hour'],
};
const PLURAL_SHORT = { day: ' days', week: ' wks', month: ' mths', year: ' yrs' };
const COMPACT = [[12, 'T', 'trillion'], [9, 'B', 'billion'], [6, 'M', 'million'], [3, 'K', 'thousand']];

const digitsOption = (options, name, least, most, otherwise) => {
  if (options[name] === undefined) return otherwise;
  const value = Number(options[name]);
  if (!(value >= least && value <= most)) throw new RangeError(`${name} value is out of range.`);
  return Math.floor(value);
};

const readDigits = (options, settings) => {
  const isCurrency = settings.style === 'currency';
  const minor = isCurrency ? (NO_MINOR.has(settings.currency) ? 0 : THREE_MINOR.has(settings.currency) ? 3 : 2) : 0;
  settings.minimumIntegerDigits = digitsOption(options, 'minimumIntegerDigits', 1, 21, 1);
  const hasSignificant = options.minimumSignificantDigits !== undefined || options.maximumSignificantDigits !== undefined;
  const hasFraction = options.minimumFractionDigits !== undefined || options.maximumFractionDigits !== undefined;
  if (hasSignificant) {
    settings.minimumSignificantDigits = digitsOption(options, 'minimumSignificantDigits', 1, 21, 1);
    settings.maximumSignificantDigits = digitsOption(options, 'maximumSignificantDigits', settings.minimumSignificantDigits, 21, 21);
    return;
  }
  if (settings.notation === 'compact' && !hasFraction) {
    Object.assign(settings, { minimumFractionDigits: 0, maximumFractionDigits: 0, minimumSignificantDigits: 1, maximumSignificantDigits: 2, isCompactRounding: true });
    return;
  }
  const most = isCurrency && settings.notation === 'standard' ? minor : settings.style === 'percent' ? 0 : 3;
  const least = isCurrency && settings.notation === 'standard' ? minor : 0;
  let min = digitsOption(options, 'minimumFractionDigits', 0, 100, undefined);
  let max = digitsOption(options, 'maximumFractionDigits', 0, 100, undefined);
  if (min === undefined) min = Math.min(least, max ?? least);
  if (max === undefined) max = Math.max(most, min);
  if (min > max) throw new RangeError('maximumFractionDigits value is out of range.');
  Object.assign(settings, { minimumFractionDigits: min, maximumFractionDigits: max });
};

const readGrouping = (options, notation) => {
  const otherwise = notation === 'compact' ? 'min2' : 'auto';
  const given = options.useGrouping;
  if (given === undefined || given === 'true' || given === 'false') return otherwise;
  if (given === true) return 'always';
  if (given === false || given === null) return false;
  return choose(options, 'useGrouping', ['min2', 'auto', 'always'], otherwise);
};

const readSettings = (locales, options) => {
  const settings = { locale: resolve(locales), numberingSystem: 'latn', style: choose(options, 'style', ['decimal', 'percent', 'currency', 'unit'], 'decimal') };
  const { currency, unit } = options;
  if (currency !== undefined && !/^[a-z]{3}$/i.test(String(currency))) throw new RangeError(`Invalid currency code : ${String(currency)}`);
  if (settings.style === 'currency') {
    if (currency === undefined) throw new TypeError('Currency code is required with currency style.');
    settings.currency = String(currency).toUpperCase();
    settings.currencyDisplay = choose(options, 'currencyDisplay', ['symbol', 'narrowSymbol', 'code', 'name'], 'symbol');
    settings.currencySign = choose(options, 'currencySign', ['standard', 'accounting'], 'standard');
  }
  if (settings.style === 'unit') {
    if (unit === undefined) throw new TypeError('Required "unit" must be provided when "style" is "unit"');
    if (!/^[a-z]+(-[a-z]+)*$/.test(String(unit))) throw new RangeError(`Invalid unit argument for Intl.NumberFormat() '${String(unit)}'`);
    settings.unit = String(unit);
    settings.unitDisplay = choose(options, 'unitDisplay', ['short', 'narrow', 'long'], 'short');
  }
  const notation = choose(options, 'notation', ['standard', 'scientific', 'engineering', 'compact'], 'standard');
  readDigits(options, Object.assign(settings, { notation }));
  delete settings.notation;
  settings.useGrouping = readGrouping(options, notation);
  settings.notation = notation;
  if (notation === 'compact') settings.compactDisplay = choose(options, 'compactDisplay', ['short', 'long'], 'short');
  settings.signDisplay = choose(options, 'signDisplay', ['auto', 'never', 'always', 'exceptZero', 'negative'], 'auto');
  return Object.assign(settings, { roundingIncrement: 1, roundingMode: 'halfExpand', roundingPriority: 'auto', trailingZeroDisplay: 'auto' });
};

const round = (decimal, settings) => {
  if (settings.isCompactRounding) return decimal.point >= 2 ? decimals.roundToFraction(decimal, 0) : decimals.roundToSignificant(decimal, 2);
  if (settings.maximumSignificantDigits !== undefined) return decimals.roundToSignificant(decimal, settings.maximumSignificantDigits);
  return decimals.roundToFraction(decimal, settings.maximumFractionDigits);
};

const leastFraction = (decimal, settings) => {
  if (settings.minimumSignificantDigits === undefined) return settings.minimumFractionDigits;
  const integer = decimal.digits === '' ? 1 : decimal.point;
  return settings.isCompactRounding ? 0 : Math.max(0, settings.minimumSignificantDigits - integer);
};

const groupParts = (whole, settings) => {
  const [separator, , least = 1, next = 3] = numbersOf(settings.locale);
  const needed = settings.useGrouping === 'min2' ? 2 : settings.useGrouping === 'always' ? 1 : least;
  if (settings.useGrouping === false || whole.length < 3 + needed) return [{ type: 'integer', value: whole }];
  const groups = [whole.slice(-3)];
  for (let end = whole.length - 3; end > 0; end -= next) groups.unshift(whole.slice(Math.max(0, end - next), end));
  return groups.flatMap((value, at) => (at === 0 ? [] : [{ type: 'group', value: separator }]).concat({ type: 'integer', value }));
};

const digitParts = (decimal, settings) => {
  const { whole, fraction } = decimals.split(decimal, leastFraction(decimal, settings), settings.minimumIntegerDigits);
  const parts = groupParts(whole, settings);
  if (fraction !== '') parts.push({ type: 'decimal', value: numbersOf(settings.locale)[1] }, { type: 'fraction', value: fraction });
  return parts;
};

// The number itself, with the suffix of its notation.
const bodyParts = (given, settings) => {
  const { notation } = settings;
  if (notation === 'compact') return compactParts(given, settings);
  if (notation === 'standard') {
    const rounded = round(given, settings);
    return { rounded, parts: digitParts(rounded, settings) };
  }
  const step = notation === 'engineering' ? 3 : 1;
  const exponentOf = (decimal) => (decimal.digits === '' ? 0 : Math.floor((decimal.point - 1) / step) * step);
  let exponent = exponentOf(given);
  let rounded = round(decimals.shift(given, -exponent), settings);
  if (exponentOf(decimals.shift(rounded, exponent)) !== exponent) {
    exponent = exponentOf(decimals.shift(rounded, exponent));
    rounded = round(decimals.shift(given, -exponent), settings);
  }
  const sign = exponent < 0 ? [{ type: 'exponentMinusSign', value: '-' }] : [];
  return { rounded, parts: [...digitParts(rounded, settings), { type: 'exponentSeparator', value: 'E' }, ...sign, { type: 'exponentInteger', value: String(Math.abs(exponent)) }] };
};

const compactParts = (given, settings) => {
  const scaleOf = (decimal) => COMPACT.find(([power]) => decimal.digits !== '' && decimal.point > power);
  let scale = scaleOf(given);
  let rounded = round(decimals.shift(given, -(scale?.[0] ?? 0)), settings);
  const raised = scaleOf(decimals.shift(rounded, scale?.[0] ?? 0));
  if (raised !== scale) {
    scale = raised;
    rounded = round(decimals.shift(given, -scale[0]), settings);
  }
  const parts = digitParts(rounded, settings);
  if (scale === undefined) return { rounded, parts };
  if (settings.compactDisplay === 'long') parts.push({ type: 'literal', value: ' ' }, { type: 'compact', value: scale[2] });
  else parts.push({ type: 'compact', value: scale[1] });
  return { rounded, parts };
};

const signOf = (decimal, settings, isNotNumber) => {
  const isZero = decimal.digits === '';
  const negative = decimal.isNegative && !isNotNumber;
  switch (settings.signDisplay) {
    case 'never': return '';
    case 'always': return negative ? '-' : '+';
    case 'exceptZero': return isZero || isNotNumber ? '' : negative ? '-' : '+';
    case 'negative': return negative && !isZero ? '-' : '';
    default: return negative ? '-' : '';
  }
};

const currencyParts = (number, settings, rounded) => {
  const { currency, currencyDisplay } = settings;
  if (currencyDisplay === 'name') {
    const [one, other] = CURRENCY_NAMES[currency] ?? [currency, currency];
    const text = number.map((part) => part.value).join('');
    return [...number, { type: 'literal', value: ' ' }, { type: 'currency', value: text === '1' && rounded.digits === '1' ? one : other }];
  }
  const symbol = currencyDisplay === 'code' ? currency : (currencyDisplay === 'narrowSymbol' ? NARROW : SYMBOLS)[currency] ?? currency;
  const written = { type: 'currency', value: settings.locale.startsWith('en') ? symbol : { CNY: 'CN¥' }[currency] ?? symbol };
  if (!/^(en|ja|zh|ko)/.test(settings.locale)) return [...number, { type: 'literal', value: '\u00a0' }, written];
  return /[a-z]$/i.test(symbol) && number[0].type === 'integer' ? [written, { type: 'literal', value: '\u00a0' }, ...number] : [written, ...number];
};

const unitParts = (number, settings, value) => {
  const known = UNITS[settings.unit];
  const isOne = select(value, number) === 'one';
  let suffix = known === undefined ? ` ${settings.unit}` : known[{ short: 0, narrow: 1, long: isOne ? 2 : 3 }[settings.unitDisplay]];
  if (settings.unitDisplay === 'short' && !isOne && PLURAL_SHORT[settings.unit] !== undefined) suffix = PLURAL_SHORT[settings.unit];
  const space = suffix.startsWith(' ') ? [{ type: 'literal', value: ' ' }] : [];
  return [...number, ...space, { type: 'unit', value: suffix.trim() }];
};

const toValue = (value) => {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value)) return value.trim();
  return Number(value);
};

const toParts = (given, settings) => {
  const value = toValue(given);
  const isFinite = typeof value !== 'number' || Number.isFinite(value);
  let decimal = isFinite ? decimals.parse(value) : { isNegative: value < 0, digits: '1', point: 1 };
  if (settings.style === 'percent') decimal = decimals.shift(decimal, 2);
  const body = isFinite ? bodyParts(decimal, settings) : { rounded: decimal, parts: [Number.isNaN(value) ? { type: 'nan', value: 'NaN' } : { type: 'infinity', value: '∞' }] };
  let { parts } = body;
  const sign = signOf({ ...body.rounded, isNegative: decimal.isNegative }, settings, Number.isNaN(value));
  if (settings.style === 'percent') parts = [...parts, ...(/^(de|fr|sv|nb|fi|da|ru|uk|cs|es)/.test(settings.locale) ? [{ type: 'literal', value: settings.locale.startsWith('fr') ? '\u202f' : '\u00a0' }] : []), { type: 'percentSign', value: '%' }];
  if (settings.style === 'currency') parts = currencyParts(parts, settings, body.rounded);
  if (settings.style === 'unit') parts = unitParts(parts, settings, value);
  if (sign === '') return parts;
  if (sign === '-' && settings.currencySign === 'accounting') return [{ type: 'literal', value: '(' }, ...parts, { type: 'literal', value: ')' }];
  return [{ type: sign === '-' ? 'minusSign' : 'plusSign', value: sign === '-' && /^(sv|nb|fi)/.test(settings.locale) ? '−' : sign }, ...parts];
};

class NumberFormat {
  #settings;
  #format;

  constructor(locales, options = undefined) { this.#settings = readSettings(locales, options === undefined ? {} : Object(options)); }

  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }

  get format() {
    this.#format ??= (value) => this.formatToParts(value).map((part) => part.value).join('');
    return this.#format;
  }

  formatToParts(value) { return toParts(value, this.#settings); }
  formatRange(start, end) {
    const [a, b] = [this.format(start), this.format(end)];
    return a === b ? `~${a}` : `${a}–${b}`;
  }

  resolvedOptions() {
    const { isCompactRounding, ...shown } = this.#settings;
    return isCompactRounding ? { ...shown, roundingPriority: 'morePrecision' } : shown;
  }

  get [Symbol.toStringTag]() { return 'Intl.NumberFormat'; }
}

const callable = new Proxy(NumberFormat, { apply: (Class, _, args) => new Class(...args) });
Object.defineProperty(NumberFormat.prototype, 'constructor', { value: callable, writable: true, configurable: true });

return { NumberFormat: callable };
