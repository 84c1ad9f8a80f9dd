'use strict';
// Errors as data: `{name, message, stack, file, line, column, code, cause}`, whatever was thrown.
const { stringify, slice, split, startsWith, includes, exec, push, join, isArray, isFinite, defineProperty, Error } = internal.primordials;
const { text } = internal;

const MAX_TEXT = 16 * 1024;
// Long chains are made by retries that wrap their last error; the first causes tell what happened.
const MAX_CAUSES = 8;
const FRAME = /\(?([^()\s]+):(\d+):(\d+)\)?$/;

// Reading a property of what a component threw may run its code, and that may throw again.
const read = (value, key) => {
  try {
    return value[key];
  } catch {
    return undefined;
  }
};

const readText = (value, key) => {
  const found = read(value, key);
  return typeof found === 'string' ? slice(text(found), 0, MAX_TEXT) : undefined;
};

// Also errors of other realms and of libraries that make their own: they have a stack.
const isError = (value) => {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return value instanceof Error || typeof value.stack === 'string';
  } catch {
    return false;
  }
};

const shown = (value) => {
  try {
    return slice(text(internal.inspect(value)), 0, MAX_TEXT);
  } catch {
    return 'a value that cannot be shown';
  }
};

// What stands above the frames, and those that have a place in the author's code.
const partsOf = (stack) => {
  const [head, frames] = [[], []];
  for (const line of split(stack, '\n')) {
    if (!startsWith(line, '    at ')) {
      if (line !== '' && frames.length === 0) push(head, line);
      continue;
    }
    const frame = exec(FRAME, line);
    if (frame !== null && !startsWith(frame[1], 'wellspring:')) push(frames, line);
  }
  return { head: join(head, '\n'), frames };
};

const headlineOf = (name, message) => (message === '' ? name : `${name}: ${message}`);

const indented = (lines) => join(split(lines, '\n'), '\n  ');

// As Node shows them: `{ [cause]: … }` after the stack.
const withCauses = (stack, cause, errors) => {
  const parts = [];
  if (cause !== undefined) push(parts, `\n  [cause]: ${indented(cause.stack)}`);
  for (const error of errors) push(parts, `\n  [error]: ${indented(error.stack)}`);
  return parts.length === 0 ? stack : `${stack} {${join(parts, ',')}\n}`;
};

// An error by itself, without its causes.
const describeAlone = (thrown) => {
  const name = readText(thrown, 'name') || 'Error';
  const message = readText(thrown, 'message') ?? '';
  const { head, frames } = partsOf(readText(thrown, 'stack') ?? '');
  // A stack begins as its error was called when it was made: both may have changed since.
  const isHeaded = startsWith(head, name) && includes(head, message);
  const record = { name, message, stack: join([isHeaded ? head : headlineOf(name, message), ...frames], '\n') };
  for (const line of frames) {
    const frame = exec(FRAME, line);
    if (frame === null) continue;
    record.file = frame[1];
    record.line = +frame[2];
    record.column = +frame[3];
    break;
  }
  const code = read(thrown, 'code');
  if (typeof code === 'string' || isFinite(code)) record.code = code;
  return record;
};

// `path` is what it is a cause of, outermost first: causes may form a circle.
const describe = (thrown, path) => {
  if (!isError(thrown)) {
    const message = shown(thrown);
    return { name: '', message, stack: message };
  }
  const record = describeAlone(thrown);
  describeCauses(record, thrown, [...path, thrown]);
  return record;
};

const describeCauses = (record, thrown, path) => {
  const isShown = (cause) => {
    if (cause === undefined || cause === null || path.length > MAX_CAUSES) return false;
    for (const outer of path) if (outer === cause) return false;
    return true;
  };
  const cause = read(thrown, 'cause');
  if (isShown(cause)) record.cause = describe(cause, path);
  // What Promise.any and connection attempts reject with: its own message says nothing.
  const errors = [];
  const all = read(thrown, 'errors');
  if (record.name === 'AggregateError' && isArray(all)) {
    for (let at = 0; at < all.length && at < MAX_CAUSES; at++) if (isShown(all[at])) push(errors, describe(all[at], path));
  }
  record.stack = slice(withCauses(record.stack, record.cause, errors), 0, MAX_TEXT);
};

// What is no error is shown as the value it is, and said to have been thrown.
internal.describeError = (thrown) => {
  const record = describe(thrown, []);
  return record.name === '' ? { name: 'Uncaught', message: record.message, stack: `Uncaught: ${record.message}` } : record;
};

internal.ownStack = (error) => describeAlone(error).stack;

// Gives an error the frames of another, or of itself where it was named after it was made.
internal.setFrames = (error, from) => {
  const stack = join([headlineOf(error.name, error.message), ...partsOf(from.stack).frames], '\n');
  defineProperty(error, 'stack', { value: stack, writable: true, configurable: true });
};

internal.errorJson = (thrown) => {
  try {
    return stringify(internal.describeError(thrown));
  } catch {
    return '{"name":"Error","message":"an error that cannot be shown","stack":""}';
  }
};

// An error with a stable code, as Node's own errors have.
internal.codedError = (code, message, Kind = Error) => {
  const error = new Kind(message);
  error.code = code;
  return error;
};
