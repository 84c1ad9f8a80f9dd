'use strict';
// Intl.DateTimeFormat.
const { resolve, supportedLocalesOf, choose, datesOf } = internal.lazy('web/intl-locale');
const { canonicalZone, localTime, zoneName } = internal.lazy('web/intl-zone');

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const ERAS = { long: ['Before Christ', 'Anno Domini'], short: ['BC', 'AD'], narrow: ['B', 'A'] };
const MAX_TIME_MS = 8.64e15;

const TEXT = ['long', 'short', 'narrow'];
const NUMERIC = ['numeric', '2-digit'];
const STYLES = ['full', 'long', 'medium', 'short'];
const FIELDS = {
  weekday: TEXT, era: TEXT, year: NUMERIC, month: [...NUMERIC, ...TEXT], day: NUMERIC, dayPeriod: TEXT,
  hour: NUMERIC, minute: NUMERIC, second: NUMERIC, fractionalSecondDigits: ['1', '2', '3'],
  timeZoneName: ['short', 'long', 'shortOffset', 'longOffset', 'shortGeneric', 'longGeneric'],
};
const DATE_STYLES = {
  full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' },
  long: { year: 'numeric', month: 'long', day: 'numeric' },
  medium: { year: 'numeric', month: 'short', day: 'numeric' },
  short: { year: '2-digit', month: 'numeric', day: 'numeric' },
};
const TIME_STYLES = {
  full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' },
  long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
  medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' },
  short: { hour: 'numeric', minute: '2-digit' },
};

// CLDR's space before AM and PM. As in V8, parts have it and whole texts a plain one, because programs search for that.
const NARROW_SPACE = '\u202f';

const two = (number) => String(number).padStart(2, '0');
const literal = (value) => ({ type: 'literal', value });

// Joins groups of parts, leaving out what is absent.
const join = (groups, separator) => groups.filter((group) => group.length > 0).flatMap((group, at) => (at === 0 ? group : [literal(separator), ...group]));

const readFields = (options, needed, defaults) => {
  const fields = {};
  for (const [name, choices] of Object.entries(FIELDS)) {
    const value = choose(options, name, choices, undefined);
    if (value !== undefined) fields[name] = name === 'fractionalSecondDigits' ? Number(value) : value;
  }
  const has = (...names) => names.some((name) => fields[name] !== undefined);
  const hasDate = has('weekday', 'year', 'month', 'day');
  const hasTime = has('dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits');
  const isEnough = (needed !== 'time' && hasDate) || (needed !== 'date' && hasTime);
  if (isEnough) return fields;
  if (defaults !== 'time') Object.assign(fields, { year: 'numeric', month: 'numeric', day: 'numeric' });
  if (defaults !== 'date') Object.assign(fields, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
  return fields;
};

const hourCycle = (options, fields, usual) => {
  const asked = choose(options, 'hourCycle', ['h11', 'h12', 'h23', 'h24'], usual);
  if (fields.hour === undefined) return undefined;
  // V8 writes midnight as 24 where the locale's own clock has twelve hours.
  if (options.hour12 !== undefined) return options.hour12 ? 'h12' : usual === 'h12' ? 'h24' : 'h23';
  return asked;
};

const dayPeriodOf = (hour, minute) => {
  if (hour === 12 && minute === 0) return 'noon';
  if (hour < 12) return 'in the morning';
  if (hour < 18) return 'in the afternoon';
  return hour < 21 ? 'in the evening' : 'at night';
};

// How a date in digits is written of those of its fields that are asked for; none of one field, nor of a text.
const patternOf = (dates, { year, month, day }, isShort) => {
  if (month === undefined || TEXT.includes(month) || (year ?? day) === undefined) return undefined;
  if (isShort) return dates.short ?? dates.date;
  if (year === undefined) return dates.md ?? dates.date.replace(/^y[^dM]*|[^dM]*y$/, '');
  return day === undefined ? dates.ym ?? dates.date.replace(/^d+[^M]*|[^M]*d+$/, '') : dates.date;
};

class Formatter {
  constructor(zone, cycle, fields, pattern, dates) {
    Object.assign(this, { zone, cycle, fields, pattern, dates, joinsWithAt: fields.month === 'long' });
  }

  parts(ms) {
    const time = localTime(this.zone, ms);
    time.millisecond = ((Math.floor(ms) % 1000) + 1000) % 1000;
    const date = this.dateParts(time);
    const clock = this.clockParts(time);
    const { timeZoneName } = this.fields;
    const zone = timeZoneName === undefined ? [] : [{ type: 'timeZoneName', value: zoneName(this.zone, timeZoneName, time) }];
    const isWeekdayOnly = date.length === 1 && date[0].type === 'weekday';
    if (clock.length === 0) return join([date, zone], ', ');
    const isPlainClock = zone.length === 0 && clock.length > 1 && clock[0].type === 'hour';
    const separator = this.joinsWithAt ? ' at ' : isWeekdayOnly && isPlainClock ? ' ' : this.dates.join;
    // An hour alone, on a clock of 24, reads as one only with a letter.
    const isBareHour = clock.length === 1 && clock[0].type === 'hour' && zone.length > 0;
    const last = date.at(-1);
    // What ends a date and what stands before a time are one literal.
    const isEnded = last?.type === 'literal';
    return join([isEnded ? date.slice(0, -1) : date, join([clock, zone], isBareHour ? 'h ' : ' ')], isEnded ? last.value + separator : separator);
  }

  dateParts(time) {
    const { fields } = this;
    const part = (type, value) => (fields[type] === undefined ? [] : [{ type, value: value(fields[type]) }]);
    const shownYear = time.year <= 0 && fields.era !== undefined ? 1 - time.year : time.year;
    const year = part('year', (style) => (style === '2-digit' ? two(Math.abs(shownYear) % 100) : String(shownYear)));
    const day = part('day', (style) => (style === '2-digit' || this.pattern?.includes('dd') ? two(time.day) : String(time.day)));
    const month = part('month', (style) => monthName(style, time.month, this.pattern?.includes('MM')));
    const weekday = part('weekday', (style) => dayName(style, time.weekday));
    const era = part('era', (style) => ERAS[style][time.year > 0 ? 1 : 0]);
    const body = TEXT.includes(fields.month) ? this.textDate(year, month, day) : this.numericDate(year, month, day);
    if (weekday.length === 0) return join([body, era], ' ');
    if (month.length > 0 && day.length > 0) return join([join([weekday, body], ', '), era], ' ');
    return join([body, weekday, era], ' ');
  }

  numericDate(year, month, day) {
    if (month.length === 0 && year.length > 0 && day.length > 0) return [...year, literal(' (day: '), ...day, literal(')')];
    if (this.pattern === undefined) return [...year, ...month, ...day];
    const parts = { y: year, M: month, d: day };
    return this.pattern.match(/([dMy])\1*|[^dMy]+/g).flatMap((token) => parts[token[0]] ?? [literal(token)]);
  }

  // English, in the order of the locale.
  textDate(year, month, day) {
    if (this.dates.date.startsWith('d')) return join([day, month, year], ' ');
    return day.length > 0 ? join([join([month, day], ' '), year], ', ') : join([month, year], ' ');
  }

  clockParts(time) {
    const { fields, cycle } = this;
    const fraction = fields.fractionalSecondDigits;
    const isLone = fields.hour === undefined && fields.minute === undefined;
    const groups = [];
    if (fields.hour !== undefined) groups.push([{ type: 'hour', value: this.hour(time.hour) }]);
    if (fields.minute !== undefined) {
      const isAlone = fields.hour === undefined && fields.second === undefined;
      groups.push([{ type: 'minute', value: isAlone ? String(time.minute) : two(time.minute) }]);
    }
    const subsecond = fraction === undefined ? [] : [{ type: 'fractionalSecond', value: String(time.millisecond).padStart(3, '0').slice(0, fraction) }];
    if (fields.second !== undefined) {
      const second = [{ type: 'second', value: isLone ? String(time.second) : two(time.second) }];
      groups.push(join([second, subsecond], '.'));
    } else if (subsecond.length > 0) groups.push(subsecond);
    const clock = join(groups, this.dates.clock ?? ':');
    if (fields.dayPeriod !== undefined && (cycle === 'h12' || cycle === 'h11' || fields.hour === undefined)) return join([clock, [{ type: 'dayPeriod', value: dayPeriodOf(time.hour, time.minute) }]], ' ');
    if (cycle !== 'h12' && cycle !== 'h11') return clock;
    const { periods = ['AM', 'PM'], afterPeriod } = this.dates;
    const period = [{ type: 'dayPeriod', value: periods[time.hour < 12 ? 0 : 1] }];
    if (afterPeriod === '') return [...period, ...clock];
    return afterPeriod === undefined ? join([clock, period], NARROW_SPACE) : join([period, clock], afterPeriod);
  }

  hour(hour) {
    const { cycle, fields } = this;
    if (cycle === 'h23') return this.dates.hour === 'H' && fields.hour !== '2-digit' ? String(hour) : two(hour);
    if (cycle === 'h24') return two(hour === 0 ? 24 : hour);
    const shown = cycle === 'h11' ? hour % 12 : hour % 12 === 0 ? 12 : hour % 12;
    return fields.hour === '2-digit' ? two(shown) : String(shown);
  }
}

const monthName = (style, month, isPadded) => {
  if (style === 'numeric') return isPadded ? two(month) : String(month);
  if (style === '2-digit') return two(month);
  const name = MONTHS[month - 1];
  return style === 'long' ? name : name.slice(0, style === 'short' ? 3 : 1);
};
const dayName = (style, weekday) => (style === 'long' ? DAYS[weekday] : DAYS[weekday].slice(0, style === 'short' ? 3 : 1));

const timeOf = (date) => {
  const ms = date === undefined ? host.now() : Number(date);
  if (!Number.isFinite(ms) || Math.abs(ms) > MAX_TIME_MS) throw new RangeError('Invalid time value');
  return Math.trunc(ms);
};

const readZone = (timeZone) => {
  const zone = canonicalZone(timeZone === undefined ? 'UTC' : timeZone);
  if (zone === undefined) throw new RangeError(`Invalid time zone specified: ${String(timeZone)}`);
  return zone;
};

class DateTimeFormat {
  #resolved;
  #formatter;
  #format;

  constructor(locales, options = undefined, needed = 'any', defaults = 'date') {
    const given = options === undefined ? {} : Object(options);
    const locale = resolve(locales);
    const dateStyle = choose(given, 'dateStyle', STYLES, undefined);
    const timeStyle = choose(given, 'timeStyle', STYLES, undefined);
    const timeZone = readZone(given.timeZone);
    const isStyled = dateStyle !== undefined || timeStyle !== undefined;
    if (isStyled) {
      const clash = Object.keys(FIELDS).find((name) => given[name] !== undefined);
      if (clash !== undefined) throw new TypeError(`Can't set option ${clash} when ${dateStyle === undefined ? 'timeStyle' : 'dateStyle'} is used`);
      if ((needed === 'date' && timeStyle !== undefined) || (needed === 'time' && dateStyle !== undefined)) throw new TypeError('Invalid option : ' + (needed === 'date' ? 'timeStyle' : 'dateStyle'));
    }
    const fields = isStyled ? { ...DATE_STYLES[dateStyle], ...TIME_STYLES[timeStyle] } : readFields(given, needed, defaults);
    const dates = datesOf(locale);
    const pattern = patternOf(dates, fields, dateStyle === 'short');
    if (dateStyle === 'short' && !pattern.includes('yy')) fields.year = 'numeric';
    const cycle = hourCycle(given, fields, dates.cycle);
    this.#formatter = new Formatter(timeZone, cycle, fields, pattern, dates);
    const shown = isStyled ? { ...(dateStyle && { dateStyle }), ...(timeStyle && { timeStyle }) } : shownFields(fields, cycle, pattern);
    const hours = cycle === undefined ? {} : { hourCycle: cycle, hour12: cycle === 'h11' || cycle === 'h12' };
    this.#resolved = { locale, calendar: 'gregory', numberingSystem: 'latn', timeZone, ...hours, ...shown };
  }

  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }

  // A getter of a bound function, so that it can be passed to `map`.
  get format() {
    this.#format ??= (date) => this.formatToParts(date).map((part) => part.value).join('').replaceAll(NARROW_SPACE, ' ');
    return this.#format;
  }

  formatToParts(date) { return this.#formatter.parts(timeOf(date)); }

  formatRange(start, end) {
    const [a, b] = [this.format(start), this.format(end)];
    return a === b ? a : `${a} – ${b}`;
  }

  formatRangeToParts(start, end) {
    const mark = (source) => (part) => ({ ...part, source });
    if (this.format(start) === this.format(end)) return this.formatToParts(start).map(mark('shared'));
    return [...this.formatToParts(start).map(mark('startRange')), { ...literal(' – '), source: 'shared' }, ...this.formatToParts(end).map(mark('endRange'))];
  }

  resolvedOptions() { return { ...this.#resolved }; }
  get [Symbol.toStringTag]() { return 'Intl.DateTimeFormat'; }
}

// What is really written: minutes beside hours always have two digits.
const shownFields = (fields, cycle, pattern) => {
  const shown = {};
  for (const name of Object.keys(FIELDS)) {
    if (fields[name] === undefined) continue;
    shown[name] = fields[name];
    if ((name === 'month' && pattern?.includes('MM')) || (name === 'day' && pattern?.includes('dd'))) shown[name] = '2-digit';
    if (name === 'hour' && (cycle === 'h23' || cycle === 'h24')) shown[name] = '2-digit';
    if (name === 'minute') shown[name] = fields.hour || fields.second ? '2-digit' : 'numeric';
    if (name === 'second') shown[name] = fields.minute ? '2-digit' : 'numeric';
  }
  return shown;
};

const callable = new Proxy(DateTimeFormat, { apply: (Class, _, args) => new Class(args[0], args[1]), construct: (Class, args) => new Class(args[0], args[1]) });
Object.defineProperty(DateTimeFormat.prototype, 'constructor', { value: callable, writable: true, configurable: true });

const toLocale = (needed, defaults) => (date, locales, options) => {
  const ms = Date.prototype.getTime.call(date);
  return Number.isNaN(ms) ? 'Invalid Date' : new DateTimeFormat(locales, options, needed, defaults).format(ms);
};

return {
  DateTimeFormat: callable,
  dateToLocale: { toLocaleString: toLocale('any', 'all'), toLocaleDateString: toLocale('date', 'date'), toLocaleTimeString: toLocale('time', 'time') },
};
