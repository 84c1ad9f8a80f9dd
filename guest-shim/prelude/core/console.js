'use strict';
// `console.*`, into the log of the run.
const { toWellFormed, defineProperty } = internal.primordials;
const LEVELS = { debug: 0, info: 1, warn: 2, error: 3 };

let groups = '';
const counts = new Map();
const started = new Map();

const write = (level, values) => {
  let line;
  try {
    line = internal.format(...values);
  } catch (error) {
    // A getter or proxy that throws while it is shown must not end the run that wanted to log it.
    line = `a value that cannot be shown (${internal.describeError(error).message})`;
  }
  if (groups !== '') line = groups + line.replaceAll('\n', `\n${groups}`);
  host.log(LEVELS[level], toWellFormed(line));
};

internal.logLine = (level, line) => host.log(LEVELS[level], toWellFormed(line));

// Counters, timers and groups of one run say nothing about the next.
internal.resetConsole = () => {
  groups = '';
  if (counts.size > 0) counts.clear();
  if (started.size > 0) started.clear();
};

const since = (label) => `${label}: ${(host.elapsed() - (started.get(label) ?? host.elapsed())).toFixed(3)}ms`;

const console = {
  log: (...values) => write('info', values),
  info: (...values) => write('info', values),
  debug: (...values) => write('debug', values),
  warn: (...values) => write('warn', values),
  error: (...values) => write('error', values),
  trace: (...values) => write('debug', [`Trace: ${internal.format(...values)}`, internal.ownStack(new Error())]),
  dir: (value, options) => write('info', [internal.inspect(value, options)]),
  dirxml: (...values) => write('info', values),
  table: (rows) => write('info', [internal.inspect(rows, { depth: 2 })]),
  assert: (condition, ...values) => {
    if (!condition) write('error', values.length === 0 ? ['Assertion failed'] : ['Assertion failed:', ...values]);
  },
  count: (label = 'default') => {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    write('info', [`${label}: ${counts.get(label)}`]);
  },
  countReset: (label = 'default') => void counts.delete(label),
  time: (label = 'default') => void started.set(label, host.elapsed()),
  timeLog: (label = 'default', ...values) => write('info', [since(label), ...values]),
  timeEnd: (label = 'default') => {
    write('info', [since(label)]);
    started.delete(label);
  },
  group: (...values) => {
    if (values.length > 0) write('info', values);
    groups += '  ';
  },
  groupEnd: () => void (groups = groups.slice(2)),
  clear: () => {},
};
console.groupCollapsed = console.group;

defineProperty(globalThis, 'console', { value: console, writable: true, configurable: true });
