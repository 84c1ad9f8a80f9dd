'use strict';
// `isDeepStrictEqual` of util, and the loose comparison of `assert.deepEqual`.
const types = internal.lazy('node/util-types');
const isObject = (value) => typeof value === 'object' && value !== null;
const enumerable = (value) => Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));

const sameBytes = (a, b) => {
  if (a.byteLength !== b.byteLength) return false;
  const bytes = (view) => (ArrayBuffer.isView(view) ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength) : new Uint8Array(view));
  const [left, right] = [bytes(a), bytes(b)];
  return left.every((byte, at) => byte === right[at]);
};

const makeEqual = (isStrict) => {
  const primitiveEqual = (a, b) => {
    if (isStrict) return Object.is(a, b);
    // Loose on purpose.
    // eslint-disable-next-line eqeqeq -- the loose comparison is what `deepEqual` promises.
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
  };

  const setEqual = (a, b, seen) => {
    if (a.size !== b.size) return false;
    const rest = [...b];
    return [...a].every((item) => {
      const at = rest.findIndex((other) => equal(item, other, seen));
      if (at < 0) return false;
      rest.splice(at, 1);
      return true;
    });
  };

  const mapEqual = (a, b, seen) => {
    if (a.size !== b.size) return false;
    const rest = [...b];
    return [...a].every(([key, value]) => {
      const at = rest.findIndex(([otherKey, other]) => equal(key, otherKey, seen) && equal(value, other, seen));
      if (at < 0) return false;
      rest.splice(at, 1);
      return true;
    });
  };

  // What an object is besides its properties.
  const contentsEqual = (a, b, seen) => {
    if (types.isDate(a)) return types.isDate(b) && Object.is(+a, +b);
    if (types.isRegExp(a)) return types.isRegExp(b) && String(a) === String(b) && a.lastIndex === b.lastIndex;
    if (types.isNativeError(a)) return types.isNativeError(b) && a.message === b.message && a.name === b.name;
    if (ArrayBuffer.isView(a) || types.isAnyArrayBuffer(a)) return (ArrayBuffer.isView(b) || types.isAnyArrayBuffer(b)) && sameBytes(a, b);
    if (types.isSet(a)) return types.isSet(b) && setEqual(a, b, seen);
    if (types.isMap(a)) return types.isMap(b) && mapEqual(a, b, seen);
    if (types.isBoxedPrimitive(a)) return types.isBoxedPrimitive(b) && Object.is(a.valueOf(), b.valueOf());
    return Array.isArray(a) === Array.isArray(b) && (!Array.isArray(a) || a.length === b.length);
  };

  const propertiesEqual = (a, b, seen) => {
    if (ArrayBuffer.isView(a)) return true;
    const [keys, others] = [enumerable(a), enumerable(b)].map((names) => (isStrict ? names : names.filter((name) => typeof name === 'string')));
    return keys.length === others.length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key], seen));
  };

  const equal = (a, b, seen) => {
    if (a === b && (a !== 0 || !isStrict)) return a !== 0 || Object.is(a, b) || !isStrict;
    if (!isObject(a) || !isObject(b)) return isObject(a) || isObject(b) || typeof a === 'function' ? false : primitiveEqual(a, b);
    if (isStrict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    // A pair that is being compared further up is equal as far as this level can tell.
    if (seen.some(([left, right]) => left === a && right === b)) return true;
    seen.push([a, b]);
    const result = contentsEqual(a, b, seen) && propertiesEqual(a, b, seen);
    seen.pop();
    return result;
  };
  return (a, b) => equal(a, b, []);
};

return { strict: makeEqual(true), loose: makeEqual(false) };
