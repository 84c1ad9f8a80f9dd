'use strict';
// Intl: enough of it for programs that format dates and numbers. Its parts are made when they are first read.
const { Locale, getCanonicalLocales } = internal.lazy('web/intl-locale');

const CALENDARS = ['gregory'];
const supportedValuesOf = (key) => {
  switch (String(key)) {
    case 'timeZone': return [...host.timeZoneNames()].sort();
    case 'calendar': return [...CALENDARS];
    case 'numberingSystem': return ['latn'];
    case 'collation': return [];
    case 'currency': return ['AUD', 'BRL', 'CAD', 'CHF', 'CNY', 'EUR', 'GBP', 'INR', 'JPY', 'KRW', 'MXN', 'SEK', 'USD'];
    case 'unit': return [];
    default: throw new RangeError(`Invalid key : ${String(key)}`);
  }
};

const Intl = { getCanonicalLocales, supportedValuesOf, Locale };
const PARTS = { DateTimeFormat: 'date', NumberFormat: 'number', PluralRules: 'plural', RelativeTimeFormat: 'text', ListFormat: 'text', Collator: 'text', Segmenter: 'segmenter' };
for (const [name, part] of Object.entries(PARTS)) {
  Object.defineProperty(Intl, name, {
    configurable: true,
    get() {
      const value = internal.lazy(`web/intl-${part}`)[name];
      Object.defineProperty(Intl, name, { value, writable: true, configurable: true });
      return value;
    },
    set(value) { Object.defineProperty(Intl, name, { value, writable: true, configurable: true }); },
  });
}
for (const name of Object.keys(Intl)) Object.defineProperty(Intl, name, { enumerable: false });
Object.defineProperty(Intl, Symbol.toStringTag, { value: 'Intl', configurable: true });

return { Intl };
