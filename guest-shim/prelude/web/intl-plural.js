'use strict';
// Intl.PluralRules, in English.
const { resolve, supportedLocalesOf, choose } = internal.lazy('web/intl-locale');

// Of a value and the parts it is written with: `1.0` is plural.
const select = (value, parts) => (Math.abs(Number(value)) === 1 && !parts.some((part) => part.type === 'fraction' || part.type === 'compact') ? 'one' : 'other');

const ordinal = (value) => {
  const [tens, ones] = [Math.abs(value) % 100, Math.abs(value) % 10];
  if (tens >= 11 && tens <= 13) return 'other';
  return { 1: 'one', 2: 'two', 3: 'few' }[ones] ?? 'other';
};

class PluralRules {
  #locale;
  #type;
  #numbers;

  constructor(locales, options = undefined) {
    const given = options === undefined ? {} : Object(options);
    this.#locale = resolve(locales);
    this.#type = choose(given, 'type', ['cardinal', 'ordinal'], 'cardinal');
    const { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, minimumSignificantDigits, maximumSignificantDigits } = given;
    const { NumberFormat } = internal.lazy('web/intl-number');
    this.#numbers = new NumberFormat('en-US', { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, minimumSignificantDigits, maximumSignificantDigits });
  }

  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }

  select(value) {
    const number = Number(value);
    return this.#type === 'ordinal' ? ordinal(number) : select(number, this.#numbers.formatToParts(number));
  }

  selectRange(start, end) { return this.select(end); }

  resolvedOptions() {
    const { minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, roundingIncrement, roundingMode, roundingPriority, trailingZeroDisplay } = this.#numbers.resolvedOptions();
    const pluralCategories = this.#type === 'ordinal' ? ['few', 'one', 'two', 'other'] : ['one', 'other'];
    return { locale: this.#locale, type: this.#type, minimumIntegerDigits, minimumFractionDigits, maximumFractionDigits, pluralCategories, roundingIncrement, roundingMode, roundingPriority, trailingZeroDisplay };
  }

  get [Symbol.toStringTag]() { return 'Intl.PluralRules'; }
}

return { PluralRules, select };
