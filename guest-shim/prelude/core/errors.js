'use strict';
// Errors as data: `{name, message, stack, file, line, column}`, whatever was thrown.
const { stringify, slice, split, startsWith, exec, push, join, isFinite, Error } = internal.primordials;
const { text } = internal;

const MAX_TEXT = 16 * 1024;
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

const printable = (value) => {
  try {
    return slice(text(value), 0, MAX_TEXT);
  } catch {
    return 'a value that cannot be shown';
  }
};

// Frames of the prelude say nothing to the author of a component.
const authorFrames = (stack) => {
  const frames = [];
  for (const line of split(stack, '\n')) {
    const frame = exec(FRAME, line);
    if (frame ? !startsWith(frame[1], 'wellspring:') : line !== '' && !startsWith(line, '    at ')) push(frames, line);
  }
  return frames;
};

internal.describeError = (thrown) => {
  if (typeof thrown !== 'object' || thrown === null) {
    return { name: 'Error', message: printable(thrown), stack: `Error: ${printable(thrown)}` };
  }
  const name = readText(thrown, 'name') || 'Error';
  const message = readText(thrown, 'message') ?? printable(thrown);
  const frames = authorFrames(readText(thrown, 'stack') ?? '');
  const headline = message === '' ? name : `${name}: ${message}`;
  const isHeaded = frames.length > 0 && startsWith(frames[0], name);
  const record = { name, message, stack: join(isHeaded ? frames : [headline, ...frames], '\n') };
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
