// Collections, dates, numbers and control of asynchronous work.

//= lodash
const _ = require('lodash');
const pick = require('lodash/pick');
const check = async () => _.chunk([1, 2, 3], 2).length === 2 && _.get({ a: [{ b: 1 }] }, 'a[0].b') === 1 && _.template('<%= x %>')({ x: 2 }) === '2' && pick({ a: 1, b: 2 }, 'a').a === 1;

//= lodash-es
import { groupBy, debounce } from 'lodash-es';
const check = async () => groupBy([1.2, 1.8, 2], Math.floor)[1].length === 2 && typeof debounce(() => {}, 1) === 'function';

//= ramda
const R = require('ramda');
const check = async () => R.pipe(R.map(R.inc), R.sum)([1, 2]) === 5 && R.path(['a', 'b'], { a: { b: 1 } }) === 1;

//= underscore
const _ = require('underscore');
const check = async () => _.pluck([{ a: 1 }, { a: 2 }], 'a').join() === '1,2';

//= immutable
const { Map, List } = require('immutable');
const check = async () => Map({ a: 1 }).set('b', 2).toJS().b === 2 && List([1, 2]).map((x) => x * 2).get(1) === 4;

//= immer
const { produce } = require('immer');
const check = async () => { const before = { a: [1] }; const after = produce(before, (draft) => { draft.a.push(2); }); return before.a.length === 1 && after.a.length === 2; };

//= rxjs
const { from, map, filter, lastValueFrom, toArray } = require('rxjs');
const check = async () => (await lastValueFrom(from([1, 2, 3]).pipe(filter((x) => x > 1), map((x) => x * 10), toArray()))).join() === '20,30';

//= uuid
const { v4, v5, v7, validate } = require('uuid');
const check = async () => validate(v4()) && v4() !== v4() && v5('a', v5.URL) === v5('a', v5.URL) && v7().length === 36;

//= nanoid
const { nanoid, customAlphabet } = require('nanoid');
const check = async () => nanoid().length === 21 && nanoid() !== nanoid() && /^[ab]{5}$/.test(customAlphabet('ab', 5)());

//= ulid
const { ulid } = require('ulid');
const check = async () => ulid(1469918176385).startsWith('01ARYZ6S41');

//= dayjs
const dayjs = require('dayjs');
dayjs.extend(require('dayjs/plugin/utc'));
dayjs.extend(require('dayjs/plugin/timezone'));
dayjs.extend(require('dayjs/plugin/relativeTime'));
const check = async () => dayjs.utc('2024-01-31').add(1, 'month').format('YYYY-MM-DD') === '2024-02-29' && dayjs.tz('2024-07-01 12:00', 'Europe/Berlin').toISOString() === '2024-07-01T10:00:00.000Z' && dayjs(0).from(dayjs(7200000)) === '2 hours ago';

//= moment
const moment = require('moment');
const check = async () => moment.utc('2024-02-28').add(2, 'days').format('MMM Do YYYY') === 'Mar 1st 2024' && moment.duration(90, 'minutes').humanize() === '2 hours';

//= moment-timezone
const moment = require('moment-timezone');
const check = async () => moment.tz('2024-01-01 12:00', 'America/New_York').utc().format() === '2024-01-01T17:00:00Z';

//= luxon
const { DateTime } = require('luxon');
const check = async () => DateTime.fromISO('2024-07-01T12:00', { zone: 'Europe/Berlin' }).toUTC().toISO() === '2024-07-01T10:00:00.000Z' && DateTime.utc(2024, 1, 2).toFormat('ccc dd LLL') === 'Tue 02 Jan';

//= date-fns
const { format, addMonths, parseISO, formatDistance } = require('date-fns');
const check = async () => format(addMonths(parseISO('2024-01-31'), 1), 'yyyy-MM-dd') === '2024-02-29' && formatDistance(0, 3600000) === 'about 1 hour';

//= date-fns-tz
const { formatInTimeZone, fromZonedTime } = require('date-fns-tz');
const check = async () => formatInTimeZone(new Date(0), 'Asia/Tokyo', 'yyyy-MM-dd HH:mm zzz').startsWith('1970-01-01 09:00') && fromZonedTime('2024-07-01 12:00', 'Europe/Berlin').toISOString() === '2024-07-01T10:00:00.000Z';

//= cron-parser
const { CronExpressionParser } = require('cron-parser');
const check = async () => CronExpressionParser.parse('*/15 * * * *', { currentDate: new Date(0), tz: 'UTC' }).next().toDate().getTime() === 900000;

//= ms
const ms = require('ms');
const check = async () => ms('2 days') === 172800000 && ms(60000) === '1m';

//= bottleneck
const Bottleneck = require('bottleneck');
const check = async () => {
  const limiter = new Bottleneck({ maxConcurrent: 1, minTime: 1 });
  const order = [];
  await Promise.all([1, 2, 3].map((x) => limiter.schedule(async () => order.push(x))));
  return order.join() === '1,2,3';
};

//= async-retry
const retry = require('async-retry');
const check = async () => {
  let tries = 0;
  return (await retry(() => { tries += 1; if (tries < 3) throw new Error('again'); return tries; }, { minTimeout: 1, maxTimeout: 2 })) === 3;
};

//= async
const async = require('async');
const check = async () => (await async.mapLimit([1, 2, 3], 2, async (x) => x * 2)).join() === '2,4,6' && (await async.parallel({ a: (done) => setTimeout(() => done(null, 1), 1) })).a === 1;

//= bluebird
const Bluebird = require('bluebird');
const check = async () => (await Bluebird.map([1, 2], (x) => Bluebird.delay(1).then(() => x + 1), { concurrency: 1 })).join() === '2,3';

//= p-limit
import pLimit from 'p-limit';
const check = async () => { const limit = pLimit(1); return (await Promise.all([1, 2].map((x) => limit(async () => x)))).join() === '1,2'; };

//= p-queue
import PQueue from 'p-queue';
const check = async () => { const queue = new PQueue({ concurrency: 1 }); const done = []; await queue.addAll([async () => done.push(1), async () => done.push(2)]); return done.join() === '1,2'; };

//= zod
const { z } = require('zod');
const check = async () => z.object({ a: z.string().email(), b: z.number().optional() }).safeParse({ a: 'x@y.test' }).success && !z.string().safeParse(1).success;

//= joi
const Joi = require('joi');
const check = async () => Joi.object({ a: Joi.string().email({ tlds: false }).required() }).validate({ a: 'x@y.test' }).error === undefined && Joi.number().min(3).validate(2).error.message.includes('greater');

//= ajv
const Ajv = require('ajv');
const check = async () => {
  const validate = new Ajv().compile({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] });
  return validate({ a: 1 }) && !validate({ a: 'x' }) && validate.errors[0].keyword === 'type';
};

//= validator
const validator = require('validator');
const check = async () => validator.isEmail('a@b.test') && !validator.isURL('nope') && validator.escape('<') === '&lt;';

//= object-hash
const hash = require('object-hash');
const check = async () => hash({ a: 1, b: [2] }) === hash({ b: [2], a: 1 }) && hash({ a: 1 }).length === 40;

//= fast-deep-equal
const equal = require('fast-deep-equal');
const check = async () => equal({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }) && !equal([1], [2]);

//= deepmerge
const merge = require('deepmerge');
const check = async () => merge({ a: { b: 1 } }, { a: { c: 2 } }).a.c === 2;

//= jsonpath-plus
const { JSONPath } = require('jsonpath-plus');
const check = async () => JSONPath({ path: '$.a[?(@.b > 1)].b', json: { a: [{ b: 1 }, { b: 2 }] } }).join() === '2';

//= jsonata
const jsonata = require('jsonata');
const check = async () => (await jsonata('$sum(items.price)').evaluate({ items: [{ price: 1 }, { price: 2 }] })) === 3;

//= semver
const semver = require('semver');
const check = async () => semver.satisfies('1.2.3', '^1.0.0') && semver.inc('1.2.3', 'minor') === '1.3.0';

//= bignumber.js
const BigNumber = require('bignumber.js');
const check = async () => new BigNumber('0.1').plus('0.2').toString() === '0.3';

//= currency.js
const currency = require('currency.js');
const check = async () => currency('1,234.5').add(1).format() === '$1,235.50';

//= mathjs
const math = require('mathjs');
const check = async () => math.evaluate('2 * sqrt(9) + 1') === 7 && math.unit('5 cm').to('mm').toString() === '50 mm';

//= fuse.js
const Fuse = require('fuse.js');
const check = async () => new Fuse(['apple', 'banana'], {}).search('aple')[0].item === 'apple';

//= debug
const debug = require('debug');
const check = async () => { debug('x')('quiet'); return debug.enabled('x') === false; };

//= chalk
import chalk from 'chalk';
const check = async () => typeof chalk.red('x') === 'string' && chalk.red('x').includes('x');

//= winston
const winston = require('winston');
const check = async () => { const lines = []; const logger = winston.createLogger({ transports: [new winston.transports.Stream({ stream: new (require('stream').Writable)({ write: (chunk, _, done) => { lines.push(String(chunk)); done(); } }) })] }); logger.info('hello'); await new Promise((resolve) => setTimeout(resolve, 5)); return lines.join('').includes('hello'); };

//= dotenv
const dotenv = require('dotenv');
const check = async () => dotenv.parse('A=1\nB="x y"').B === 'x y';

//= express
const express = require('express');
const check = async () => typeof express().get === 'function' && typeof express.Router() === 'function';
