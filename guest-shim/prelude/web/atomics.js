'use strict';
// `Atomics`, for a program that has one thread: each operation is whole because nothing else runs.
const check = (array) => {
  if (!ArrayBuffer.isView(array) || array instanceof DataView || array instanceof Float32Array || array instanceof Float64Array || array instanceof Uint8ClampedArray) {
    throw new TypeError('Atomics works on arrays of integers');
  }
  return array;
};
const place = (array, index) => {
  const at = Math.trunc(Number(index)) || 0;
  if (at < 0 || at >= check(array).length) throw new RangeError('out-of-bounds access');
  return at;
};
const change = (combine) => (array, index, value) => {
  const at = place(array, index);
  const before = array[at];
  array[at] = combine(before, typeof before === 'bigint' ? BigInt(value) : Math.trunc(Number(value)) || 0);
  return before;
};

const methods = {
  add: change((a, b) => a + b),
  and: change((a, b) => a & b),
  compareExchange: (array, index, expected, value) => {
    const at = place(array, index);
    const before = array[at];
    const like = new array.constructor([expected]);
    if (before === like[0]) array[at] = value;
    return before;
  },
  exchange: change((a, b) => b),
  isLockFree: (size) => [1, 2, 4, 8].includes(size),
  load: (array, index) => array[place(array, index)],
  notify: (array, index) => { place(array, index); return 0; },
  or: change((a, b) => a | b),
  pause: () => undefined,
  store: (array, index, value) => { array[place(array, index)] = value; return value; },
  sub: change((a, b) => a - b),
  wait: () => { throw new TypeError('Atomics.wait cannot be called in this context: there is no other thread to wake it'); },
  xor: change((a, b) => a ^ b),
};
const Atomics = {};
for (const [name, value] of Object.entries(methods)) Object.defineProperty(Atomics, name, { value, writable: true, configurable: true });
Object.defineProperty(Atomics, Symbol.toStringTag, { value: 'Atomics', configurable: true });
return { Atomics };
