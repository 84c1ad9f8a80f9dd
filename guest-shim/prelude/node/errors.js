'use strict';
// Errors as Node words and codes them; packages look at `code`.
const { codedError, inspect } = internal;

const received = (value) => {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') {
    return value.constructor?.name ? ` Received an instance of ${value.constructor.name}` : ` Received ${inspect(value, { depth: -1 })}`;
  }
  const shown = inspect(value);
  return ` Received type ${typeof value} (${shown.length > 28 ? `${shown.slice(0, 25)}...` : shown})`;
};

const listed = (kinds) => (Array.isArray(kinds) ? kinds.join(', ').replace(/, ([^,]*)$/, ' or $1') : kinds);

// What Node calls an "argument" when it is one and a "property" when the name has a dot.
const place = (name) => (name.endsWith(' argument') ? `The ${name}` : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`);

const nodeErrors = {
  invalidArgType: (name, kinds, value) => codedError('ERR_INVALID_ARG_TYPE', `${place(name)} must be of type ${listed(kinds)}.${received(value)}`, TypeError),
  invalidArgValue: (name, value, reason = 'is invalid') => codedError('ERR_INVALID_ARG_VALUE', `${place(name)} ${reason}. Received ${inspect(value)}`, TypeError),
  outOfRange: (name, range, value) => codedError('ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${inspect(value)}`, RangeError),
  unknownEncoding: (encoding) => codedError('ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`, TypeError),

  // For what cannot exist in the sandbox: sockets, processes, threads.
  unavailable: (what, instead) => codedError('ERR_NOT_AVAILABLE', `${what} is not available in a Wellspring component${instead ? `: ${instead}` : ''}`),

  // An error of an operation on files or the network: `ENOENT: no such file or directory, open '/tmp/x'`.
  systemError: (code, errno, message, syscall, path, dest) => {
    const where = `${path === undefined ? '' : ` '${path}'`}${dest === undefined ? '' : ` -> '${dest}'`}`;
    const error = codedError(code, `${code}: ${message}, ${syscall}${where}`);
    Object.assign(error, { errno, syscall });
    if (path !== undefined) error.path = path;
    if (dest !== undefined) error.dest = dest;
    return error;
  },

  requireFunction: (value, name) => {
    if (typeof value !== 'function') throw nodeErrors.invalidArgType(name, 'function', value);
    return value;
  },
  requireString: (value, name) => {
    if (typeof value !== 'string') throw nodeErrors.invalidArgType(name, 'string', value);
    return value;
  },
};
internal.nodeErrors = nodeErrors;

// A function that stands for something which cannot exist here: it can be looked at, not called.
internal.unavailable = (what, instead) => {
  const refuse = function () { throw nodeErrors.unavailable(what, instead); };
  Object.defineProperty(refuse, 'name', { value: what.slice(what.lastIndexOf('.') + 1) });
  return refuse;
};

// The bytes of what Node accepts as data: a string, a view or an ArrayBuffer.
internal.bytesOf = (value, encoding, name = 'data') => {
  if (typeof value === 'string') return internal.Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer || Object.prototype.toString.call(value) === '[object SharedArrayBuffer]') return new Uint8Array(value);
  throw nodeErrors.invalidArgType(name, ['string', 'an instance of Buffer', 'TypedArray', 'DataView'], value);
};

// Buffer over bytes that have no other reference, without copying them.
internal.bufferOver = (bytes) => Object.setPrototypeOf(bytes, internal.Buffer.prototype);

// Does `work` in a later turn of the loop, as Node does, and tells its outcome to a callback of (error, value).
internal.later = (callback, work) => {
  nodeErrors.requireFunction(callback, 'callback');
  internal.timerFunctions.setImmediate(() => {
    let result;
    try {
      result = work();
    } catch (error) {
      callback(error);
      return;
    }
    callback(null, result);
  });
};
