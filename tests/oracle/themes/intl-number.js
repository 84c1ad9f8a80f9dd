'use strict';
// Intl.NumberFormat and toLocaleString of numbers.
const VALUES = [0, -0, 1, -1, 0.5, 1.005, 1.5, 2.5, 999, 1000, 1234.5678, -1234567.891, 1e6, 999999, 1e9, 1.5e12, 1e15, 1e21, 0.000123, 123456789.123, NaN, Infinity, -Infinity, 10n ** 18n, -5n, 99.995, 0.1 + 0.2, 1e-7];

module.exports = ({ random, pick, check }) => {
  const value = () => pick([() => pick(VALUES), () => random(1e6) / 100, () => -random(1e9) / 1000, () => random(2 ** 31)])();
  const format = (options, locale = 'en-US') => {
    const number = value();
    check(`number ${locale} ${JSON.stringify(options)} ${typeof number === 'bigint' ? `${number}n` : Object.is(number, -0) ? '-0' : number}`, () => new Intl.NumberFormat(locale, options).format(number));
  };
  for (let at = 0; at < 400; at++) {
    const options = {};
    if (random(2)) options.minimumFractionDigits = random(4);
    if (random(2)) options.maximumFractionDigits = random(5);
    if (random(4) === 0) options.useGrouping = pick([true, false, 'min2', 'always']);
    if (random(5) === 0) options.minimumIntegerDigits = 1 + random(5);
    if (random(4) === 0) options.signDisplay = pick(['always', 'never', 'exceptZero', 'negative']);
    format(options);
  }
  for (let at = 0; at < 150; at++) {
    const options = { maximumSignificantDigits: 1 + random(6) };
    if (random(2)) options.minimumSignificantDigits = 1 + random(options.maximumSignificantDigits);
    format(options);
  }
  for (let at = 0; at < 250; at++) {
    const options = { style: 'currency', currency: pick(['USD', 'EUR', 'GBP', 'JPY', 'CHF', 'KWD', 'CAD', 'SEK', 'usd']) };
    if (random(3) === 0) options.currencyDisplay = pick(['code', 'narrowSymbol', 'symbol']);
    if (random(4) === 0) options.currencySign = 'accounting';
    if (random(4) === 0) options.maximumFractionDigits = 0;
    format(options);
  }
  for (let at = 0; at < 150; at++) format({ style: 'percent', ...(random(2) ? { maximumFractionDigits: random(3) } : {}) });
  for (let at = 0; at < 200; at++) format({ notation: 'compact', ...(random(3) === 0 ? { compactDisplay: 'long' } : {}), ...(random(3) === 0 ? { maximumFractionDigits: random(3) } : {}) });
  for (let at = 0; at < 60; at++) format({ notation: pick(['scientific', 'engineering']) });
  for (let at = 0; at < 150; at++) format({ style: 'unit', unit: pick(['kilometer', 'megabyte', 'second', 'hour', 'day', 'celsius', 'liter', 'percent', 'kilometer-per-hour']), unitDisplay: pick(['short', 'long', 'narrow']) });
  for (let at = 0; at < 120; at++) format({ maximumFractionDigits: 2 }, pick(['de-DE', 'fr-FR', 'es-ES', 'sv-SE', 'pt-BR', 'en-GB', 'ja-JP']));
  for (let at = 0; at < 60; at++) {
    const number = value();
    check(`toLocaleString ${String(number)}`, () => number.toLocaleString());
  }
  check('parts', () => new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).formatToParts(-1234.5));
  for (const options of [{ style: 'currency' }, { style: 'currency', currency: 'x' }, { minimumFractionDigits: 5, maximumFractionDigits: 2 }, { style: 'odd' }, { maximumFractionDigits: 200 }, { style: 'unit' }]) {
    check(`number ${JSON.stringify(options)}`, () => new Intl.NumberFormat('en-US', options).format(1));
  }
};
