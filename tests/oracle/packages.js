'use strict';
// Packages that use Intl, compared like cases.js. Needs luxon, date-fns and date-fns-tz from npm.
const { DateTime, Duration, IANAZone, Info } = require('luxon');
const { formatInTimeZone, fromZonedTime, getTimezoneOffset, toZonedTime } = require('date-fns-tz');

const start = DateTime.fromISO('2024-03-10T01:30:00', { zone: 'America/New_York' });
const utc = (text) => DateTime.fromISO(text, { zone: 'utc' });

const CASES = {
  'luxon across daylight saving': () => start.plus({ hours: 1 }).toISO(),
  'luxon in another zone': () => start.setZone('Asia/Tokyo').toFormat('yyyy LLL dd HH:mm ZZZZ z cccc'),
  'luxon full': () => start.toLocaleString(DateTime.DATETIME_FULL),
  'luxon huge': () => start.toLocaleString(DateTime.DATETIME_HUGE_WITH_SECONDS),
  'luxon of 24 hours': () => start.toLocaleString(DateTime.TIME_24_SIMPLE),
  'luxon zones': () => [IANAZone.isValidZone('Europe/Paris'), IANAZone.isValidZone('Nope/X'), start.offset, start.isInDST, start.offsetNameLong, start.offsetNameShort],
  'luxon names': () => [Info.months('short'), Info.weekdays(), Info.meridiems(), Info.eras()],
  'luxon durations': () => Duration.fromObject({ hours: 2, minutes: 3 }).toHuman(),
  'luxon parsing': () => DateTime.fromFormat('May 25 1982 3:04 PM', 'LLLL dd yyyy h:mm a', { zone: 'Europe/Berlin' }).toISO(),
  'luxon relative': () => [utc('2024-01-01').toRelative({ base: utc('2024-01-05') }), utc('2024-01-01').toRelativeCalendar({ base: utc('2024-01-02') })],
  'date-fns-tz format': () => formatInTimeZone(new Date(Date.UTC(2024, 6, 1, 12)), 'America/Los_Angeles', 'yyyy-MM-dd HH:mm:ss zzz xxx'),
  'date-fns-tz to UTC': () => fromZonedTime('2024-07-01 12:00', 'Europe/Paris').toISOString(),
  'date-fns-tz to a zone': () => String(toZonedTime(new Date(Date.UTC(2024, 6, 1, 0, 30)), 'Asia/Kolkata')),
  'date-fns-tz offset': () => getTimezoneOffset('America/New_York', new Date(0)),
  'date-fns-tz historical name': () => formatInTimeZone(new Date(0), 'Europe/London', 'zzzz'),
};

exports.run = () => Object.entries(CASES).map(([label, work]) => [label, JSON.stringify(work())]);
