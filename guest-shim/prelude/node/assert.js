'use strict';
// `assert`, and its strict mode.
const { invalidArgType, requireFunction } = internal.nodeErrors;
const equality = internal.lazy('node/deep-equal');
const { inspect } = internal;

class AssertionError extends Error {
  constructor({ message, actual, expected, operator = 'fail', stackStartFn, generated }) {
    super(message !== undefined ? String(message) : `${inspect(actual)} ${operator} ${inspect(expected)}`);
    this.name = 'AssertionError';
    this.code = 'ERR_ASSERTION';
    this.generatedMessage = generated ?? message === undefined;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    if (stackStartFn) Error.captureStackTrace?.(this, stackStartFn);
  }
}

const fail = (actual, expected, message, operator, stackStartFn) => {
  if (message instanceof Error) throw message;
  throw new AssertionError({ actual, expected, message, operator, stackStartFn });
};

const both = (actual, expected, sentence) => `${sentence}\n\n${inspect(actual)} !== ${inspect(expected)}\n`;

// `expected` of throws and rejects: a class, a pattern, a check, or the properties an error must have.
const matches = (error, expected) => {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return true;
    if (Object.prototype.isPrototypeOf.call(Error, expected)) return false;
    return expected.call({}, error) === true;
  }
  if (typeof expected !== 'object') throw invalidArgType('expected', ['function', 'an instance of Error', 'RegExp', 'Object'], expected);
  const keys = expected instanceof Error ? ['name', 'message', ...Object.keys(expected)] : Object.keys(expected);
  return keys.every((key) => (expected[key] instanceof RegExp && typeof error[key] === 'string' ? expected[key].test(error[key]) : equality.strict(error[key], expected[key])));
};

const checkThrown = (outcome, expected, message, operator) => {
  const [pattern, text] = typeof expected === 'string' ? [undefined, expected] : [expected, message];
  const what = operator === 'rejects' ? 'rejection' : 'exception';
  if (!outcome.hasThrown) fail(undefined, pattern, text instanceof Error ? text : `Missing expected ${what}${text ? `: ${text}` : '.'}`, operator);
  if (!matches(outcome.error, pattern)) {
    if (text !== undefined) fail(outcome.error, pattern, text, operator);
    if (typeof pattern === 'function' && Object.prototype.isPrototypeOf.call(Error, pattern)) throw outcome.error;
    fail(outcome.error, pattern, `The ${what} did not match what was expected: ${inspect(outcome.error)}`, operator);
  }
};

const attempt = (fn) => {
  requireFunction(fn, 'fn');
  try {
    fn();
    return { hasThrown: false };
  } catch (error) {
    return { hasThrown: true, error };
  }
};
const attemptAsync = async (promise) => {
  try {
    await (typeof promise === 'function' ? promise() : promise);
    return { hasThrown: false };
  } catch (error) {
    return { hasThrown: true, error };
  }
};
const refuseThrown = ({ hasThrown, error }, expected, message, operator) => {
  if (!hasThrown) return;
  const [pattern, text] = typeof expected === 'string' ? [undefined, expected] : [expected, message];
  if (!matches(error, pattern)) throw error;
  fail(error, pattern, `Got unwanted ${operator === 'doesNotReject' ? 'rejection' : 'exception'}${text ? `: ${text}` : '.'}\nActual message: "${error?.message}"`, operator);
};

const make = () => {
  const assert = (value, message) => {
    if (!value) fail(value, true, message ?? 'The expression evaluated to a falsy value', '==', assert);
  };
  const compare = (name, test, operator, sentence) => {
    assert[name] = (actual, expected, message) => {
      if (!test(actual, expected)) fail(actual, expected, message ?? both(actual, expected, sentence), operator, assert[name]);
    };
  };
  const same = (a, b) => Object.is(a, b);
  // Loose on purpose.
  // eslint-disable-next-line eqeqeq -- the loose comparison is what `assert.equal` promises.
const alike = (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b));
  compare('equal', alike, '==', 'Expected values to be loosely equal:');
  compare('notEqual', (a, b) => !alike(a, b), '!=', 'Expected values to be loosely unequal:');
  compare('strictEqual', same, 'strictEqual', 'Expected values to be strictly equal:');
  compare('notStrictEqual', (a, b) => !same(a, b), 'notStrictEqual', 'Expected "actual" to be strictly unequal to:');
  compare('deepEqual', equality.loose, 'deepEqual', 'Expected values to be loosely deep-equal:');
  compare('notDeepEqual', (a, b) => !equality.loose(a, b), 'notDeepEqual', 'Expected "actual" not to be loosely deep-equal to:');
  compare('deepStrictEqual', equality.strict, 'deepStrictEqual', 'Expected values to be strictly deep-equal:');
  compare('notDeepStrictEqual', (a, b) => !equality.strict(a, b), 'notDeepStrictEqual', 'Expected "actual" not to be strictly deep-equal to:');
  compare('match', (text, pattern) => pattern.test(text), 'match', 'The input did not match the regular expression:');
  compare('doesNotMatch', (text, pattern) => !pattern.test(text), 'doesNotMatch', 'The input was expected to not match the regular expression:');
  assert.ok = (value, message) => assert(value, message);
  assert.fail = (actual, expected, message, operator) => {
    if (actual instanceof Error) throw actual;
    if (expected === undefined) throw new AssertionError({ message: actual ?? 'Failed', operator: 'fail', generated: actual === undefined });
    fail(actual, expected, message, operator ?? '!=');
  };
  assert.ifError = (value) => {
    if (value !== null && value !== undefined) throw new AssertionError({ actual: value, expected: null, operator: 'ifError', message: `ifError got unwanted exception: ${value?.message ?? inspect(value)}` });
  };
  assert.throws = (fn, expected, message) => checkThrown(attempt(fn), expected, message, 'throws');
  assert.rejects = async (promise, expected, message) => checkThrown(await attemptAsync(promise), expected, message, 'rejects');
  assert.doesNotThrow = (fn, expected, message) => refuseThrown(attempt(fn), expected, message, 'doesNotThrow');
  assert.doesNotReject = async (promise, expected, message) => refuseThrown(await attemptAsync(promise), expected, message, 'doesNotReject');
  assert.AssertionError = AssertionError;
  return assert;
};

const assert = make();
const strict = make();
for (const [name, strictName] of Object.entries({ equal: 'strictEqual', notEqual: 'notStrictEqual', deepEqual: 'deepStrictEqual', notDeepEqual: 'notDeepStrictEqual' })) {
  strict[name] = strict[strictName];
}
assert.strict = strict.strict = strict;
return assert;
