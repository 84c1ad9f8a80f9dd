'use strict';
// Intl.DateTimeFormat and the toLocale methods of Date.
const ZONES = ['UTC', 'America/New_York', 'America/Chicago', 'America/Denver', 'America/Los_Angeles', 'America/Phoenix', 'America/Anchorage', 'Pacific/Honolulu', 'America/Toronto', 'America/Halifax', 'America/St_Johns', 'America/Sao_Paulo', 'Europe/London', 'Europe/Paris', 'Europe/Berlin', 'Europe/Moscow', 'Europe/Athens', 'Asia/Tokyo', 'Asia/Kolkata', 'Asia/Shanghai', 'Asia/Dubai', 'Australia/Sydney', 'Pacific/Auckland', 'Africa/Lagos', 'Africa/Johannesburg', 'Pacific/Kiritimati', 'Asia/Kathmandu'];
const DATE_SETS = [
  ['year', 'month', 'day'], ['month', 'day'], ['year', 'month'], ['weekday', 'month', 'day'], ['weekday', 'year', 'month', 'day'], ['year'], ['month'], ['day'], ['weekday'], [],
];
const TIME_SETS = [['hour', 'minute'], ['hour', 'minute', 'second'], ['hour'], ['minute', 'second'], [], []];
const CHOICES = {
  year: ['numeric', '2-digit'], month: ['numeric', '2-digit', 'long', 'short'], day: ['numeric', '2-digit'], weekday: ['long', 'short'],
  hour: ['numeric', '2-digit'], minute: ['numeric', '2-digit'], second: ['numeric', '2-digit'],
};
const STYLES = ['full', 'long', 'medium', 'short'];

module.exports = ({ random, pick, check }) => {
  // Years in which the rules of the zones above have settled.
  const instant = () => Date.UTC(1995 + random(35), random(12), 1 + random(28), random(24), random(60), random(60), random(1000));
  for (let at = 0; at < 1500; at++) {
    const options = { timeZone: pick(ZONES) };
    for (const name of [...pick(DATE_SETS), ...pick(TIME_SETS)]) options[name] = pick(CHOICES[name]);
    if (options.hour !== undefined && random(3) === 0) Object.assign(options, pick([{ hour12: false }, { hour12: true }, { hourCycle: 'h23' }]));
    if (options.hour !== undefined && random(4) === 0) options.timeZoneName = pick(['short', 'long', 'shortOffset', 'longOffset']);
    const ms = instant();
    check(`date ${JSON.stringify(options)} ${ms}`, () => {
      const format = new Intl.DateTimeFormat('en-US', options);
      return [format.format(ms), format.formatToParts(ms).map(({ type, value }) => `${type}=${value}`)];
    });
  }
  for (let at = 0; at < 300; at++) {
    const options = { timeZone: pick(ZONES) };
    if (random(4) > 0) options.dateStyle = pick(STYLES);
    if (random(4) > 0) options.timeStyle = pick(STYLES);
    const ms = instant();
    check(`date ${JSON.stringify(options)} ${ms}`, () => new Intl.DateTimeFormat('en-US', options).format(ms));
  }
  for (let at = 0; at < 150; at++) {
    const [date, timeZone] = [new Date(instant()), pick(ZONES)];
    const locale = pick(['en-US', 'en-US', 'en-GB', 'en-CA', 'sv-SE', 'de-DE', 'fr-FR']);
    check(`toLocale ${locale} ${timeZone} ${date.getTime()}`, () => [date.toLocaleString(locale, { timeZone }), date.toLocaleDateString(locale, { timeZone }), date.toLocaleTimeString(locale, { timeZone })]);
  }
  for (const options of [{}, { hour: 'numeric' }, { hour: 'numeric', minute: 'numeric', hour12: false }, { dateStyle: 'short' }, { timeStyle: 'long', timeZone: 'asia/tokyo' }, { month: 'long', timeZoneName: 'short' }]) {
    check(`resolvedOptions ${JSON.stringify(options)}`, () => new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options }).resolvedOptions());
  }
  for (const options of [{ timeZone: 'Nowhere/City' }, { month: 'huge' }, { dateStyle: 'full', year: 'numeric' }, { hourCycle: 'h9' }]) {
    check(`date ${JSON.stringify(options)}`, () => new Intl.DateTimeFormat('en-US', options).format(0));
  }
  check('an invalid date', () => [new Date(NaN).toLocaleString(), new Date(NaN).toLocaleDateString()]);
  check('an invalid date in format', () => new Intl.DateTimeFormat('en-US').format(NaN));
  check('a locale that is none', () => new Intl.DateTimeFormat('x'));
};
