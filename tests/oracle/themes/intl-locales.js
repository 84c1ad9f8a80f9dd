'use strict';
// Dates in digits and numbers, as locales write them. Text stays English, so nothing here has any.
const LOCALES = [
  'en-GB', 'en-AU', 'en-CA', 'en-IE', 'en-IN', 'en-NZ', 'cs-CZ', 'da-DK', 'de-AT', 'el-GR', 'es-ES', 'es-MX', 'fi-FI', 'fr-CH', 'he-IL', 'hr-HR', 'hu-HU', 'id-ID', 'it-IT',
  'ja-JP', 'nb-NO', 'nl-NL', 'nl-BE', 'nn-NO', 'no-NO', 'pl-PL', 'pt-BR', 'pt-PT', 'ro-RO', 'ru-RU', 'sk-SK', 'sv-SE', 'tr-TR', 'uk-UA', 'zh-CN',
];
const DATES = [
  { dateStyle: 'short' }, { dateStyle: 'short', timeStyle: 'short' }, { month: 'numeric', day: 'numeric' }, { year: 'numeric', month: 'numeric' },
  { year: 'numeric', month: '2-digit', day: '2-digit' }, { hour: '2-digit', minute: '2-digit' },
];

module.exports = ({ random, check }) => {
  for (const locale of LOCALES) {
    for (let at = 0; at < 3; at++) {
      const date = new Date(Date.UTC(1995 + random(35), random(12), 1 + random(28), random(24), random(60), random(60)));
      check(`toLocale ${locale} ${date.toISOString()}`, () => [date.toLocaleString(locale), date.toLocaleDateString(locale), date.toLocaleTimeString(locale)]);
      for (const options of DATES) {
        check(`date ${locale} ${JSON.stringify(options)} ${date.toISOString()}`, () => {
          const format = new Intl.DateTimeFormat(locale, options);
          return [format.format(date), format.formatToParts(date).map(({ type, value }) => `${type}=${value}`)];
        });
      }
    }
    for (const number of [1234.5, 1234567.891]) check(`number ${locale} ${number}`, () => number.toLocaleString(locale));
  }
};
