'use strict';
// structuredClone.
const describe = (value, depth = 0) => {
  if (depth > 5) return '…';
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value);
  const kind = Object.prototype.toString.call(value);
  const inner = (item) => describe(item, depth + 1);
  if (value instanceof Map) return `Map(${[...value].map(([key, item]) => `${inner(key)}=>${inner(item)}`)})`;
  if (value instanceof Set) return `Set(${[...value].map(inner)})`;
  if (value instanceof Date) return `Date(${value.getTime()})`;
  if (value instanceof RegExp) return `${value} ${value.lastIndex}`;
  if (value instanceof Error) return `${value.constructor.name}(${value.name},${value.message},${inner(value.cause)},${Object.keys(value)})`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${new Uint8Array(value.buffer)},${value.byteOffset},${value.byteLength})`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${new Uint8Array(value)})`;
  if (kind === '[object Number]' || kind === '[object String]' || kind === '[object Boolean]') return `${kind}${value}`;
  return `${Array.isArray(value) ? 'Array' : value.constructor?.name}{${Object.keys(value).map((key) => `${key}:${inner(value[key])}`)}}`;
};

class Custom {
  constructor() { this.x = 1; }
  get y() { return 2; }
}
const leaf = ({ random, bytes }) => [
  () => random(100), () => 'text', () => null, () => undefined, () => true, () => -0, () => NaN, () => 10n ** 20n, () => new Date(random(1e9)), () => new Date(NaN),
  () => /a+/gi, () => new Error('e', { cause: 'c' }), () => Object.assign(new RangeError('r'), { extra: 1 }), () => bytes(3), () => bytes(4).buffer,
  () => new Float64Array([1.5, NaN]), () => new DataView(bytes(4).buffer, 1, 2), () => new Number(3), () => new String('s'), () => new Boolean(false), () => new Custom(),
  () => Object.create(null, { z: { value: 1, enumerable: true } }), () => [1, , 3], () => Object.assign([1], { p: 2 }), () => new (class Special extends Error { get name() { return 'Special'; } })('m'),
];

const tree = (tools, depth) => {
  const { random, pick } = tools;
  if (depth === 0 || random(3) === 0) return pick(leaf(tools))();
  const items = Array.from({ length: random(4) }, () => tree(tools, depth - 1));
  return [() => items, () => Object.fromEntries(items.map((item, at) => [`k${at}`, item])), () => new Map(items.map((item, at) => [at, item])), () => new Set(items)][random(4)]();
};

module.exports = (tools) => {
  const { check } = tools;
  for (let at = 0; at < 300; at++) {
    const value = tree(tools, 3);
    check(`clone ${at} ${describe(value).slice(0, 80)}`, () => describe(structuredClone(value)));
  }
  check('clone keeps identity', () => {
    const shared = { n: 1 };
    const value = { a: shared, b: shared, list: [shared] };
    value.self = value;
    const copy = structuredClone(value);
    return [copy !== value, copy.a === copy.b, copy.list[0] === copy.a, copy.self === copy];
  });
  check('clone of views shares their buffer', () => {
    const buffer = new ArrayBuffer(8);
    const copy = structuredClone({ a: new Uint8Array(buffer, 2, 3), b: new Uint16Array(buffer, 4) });
    return [copy.a.buffer === copy.b.buffer, copy.a.byteOffset, copy.a.length, copy.b.length];
  });
  for (const [name, value] of [['function', () => {}], ['symbol', Symbol('s')], ['in object', { f() {} }], ['weak map', new WeakMap()], ['promise', Promise.resolve()], ['getter that throws', { get x() { throw new TypeError('no'); } }]]) {
    check(`clone of ${name}`, () => structuredClone(value));
  }
  check('clone with transfer', () => {
    const buffer = new ArrayBuffer(4);
    const copy = structuredClone({ buffer }, { transfer: [buffer] });
    return [buffer.byteLength, copy.buffer.byteLength];
  });
};
