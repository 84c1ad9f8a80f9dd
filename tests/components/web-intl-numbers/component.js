// Numbers, money, percentages and units are written for people.
module.exports = {
  name: 'web-intl-numbers',
  version: '1.0.0',
  type: 'action',
  async run() {
    const format = (value, options, locale = 'en-US') => new Intl.NumberFormat(locale, options).format(value);
    return [
      (1234567.891).toLocaleString(), (12345678901234567890n).toLocaleString('en-US'), format(-5.5, { style: 'currency', currency: 'EUR' }), format(1234, { style: 'currency', currency: 'JPY' }),
      format(0.256, { style: 'percent', maximumFractionDigits: 1 }), format(1234567, { notation: 'compact' }), format(1.005, { maximumFractionDigits: 2 }), format(1234.5, {}, 'de-DE'),
      format(3, { style: 'unit', unit: 'kilometer-per-hour' }), format(0.00001234, { maximumSignificantDigits: 2 }), format(-3, { style: 'currency', currency: 'USD', currencySign: 'accounting' }),
    ];
  },
};
