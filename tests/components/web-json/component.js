// JSON.parse and JSON.stringify, in the usual case and out of it: what Node gives, each getter and toJSON called once.
const attempt = (work) => {
  try {
    return work();
  } catch (error) {
    return `${error.name}`;
  }
};
// With what JSON would hide: -0, half characters, the order of names.
const shown = (value) => {
  if (typeof value === 'string') return `'${Array.from(value, (_, index) => value.charCodeAt(index).toString(16)).join(' ')}'`;
  if (Array.isArray(value)) return `[${value.map(shown)}]`;
  if (typeof value === 'object' && value !== null) return `{${Reflect.ownKeys(value).map((name) => `${name}:${shown(value[name])}`)}}`;
  return Object.is(value, -0) ? '-0' : String(value);
};

let calls = 0;
class Point {
  #hidden = 1;
  constructor() { this.x = 1; this.y = undefined; }
  get area() { return 9; }
}
const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth);
const cycle = { a: [] };
cycle.a.push(cycle);
const sparse = [1, , 3];
const withNumbers = { b: 1, 10: 2, a: 3, 2: 4, '-1': 5, '01': 6 };
const values = {
  numbers: [0, -0, 1, -1, 2147483648, -2147483649, 9007199254740991, 9007199254740993, 1e21, 1.5, -1e-7, 0.1 + 0.2, NaN, -Infinity],
  texts: ['', 'a"b\\c/d', '\b\f\n\r\t\u0000\u001f\u007f', 'é€😀\u2028', '\ud800', 'x\udc00y', 'a'.repeat(3) + 'b'],
  names: { '': 1, 'a"b': 2, 'é': 3, '\ud83d': 4, ['__proto__']: 5 },
  numberNames: withNumbers,
  point: new Point(),
  none: Object.create(null),
  inherited: Object.create({ a: 1 }, { b: { value: 2, enumerable: true }, c: { value: 3 } }),
  wrapped: [Object(1), Object('s'), Object(false)],
  others: [new Map([[1, 2]]), new Set([1]), /x/g, new Date(0), new Error('e'), new Uint8Array(2), function f() {}, Symbol('s'), undefined],
  sparse,
  arrayWithName: Object.assign([1], { name: 'x' }),
  getter: { get once() { calls += 1; return calls; }, after: 1 },
  toJson: { toJSON(key) { calls += 1; return `${key} ${calls}`; } },
  proxy: new Proxy({ a: 1 }, {}),
  frozen: Object.freeze({ a: Object.freeze([1]) }),
  rope: 'x'.repeat(40) + 'y'.repeat(40),
};
const texts = [
  '{"a":[1,-2,3.5,1e3,-0,0.1e-2,12345678901234567890,true,false,null,"\\u0041\\ud83d\\ude00\\ud800\\n"]}',
  ' \t\r\n[ 1 , { "b" : { } } , [ ] ] ', '{"a":1,"b":2,"a":3}', '{"__proto__":{"x":1},"10":1,"2":2,"x":3}', '"é€😀"', '{"é":1,"\\u00e9":2}',
  '1e999', '-1e-999', '', ' ', '{', '[1,]', '{"a":1,}', '{a:1}', "{'a':1}", '01', '1.', '.5', '+1', '-', '1e', '"\n"', '"\\x"', '"\\u00g0"',
  'nul', 'true false', '[1]]', 'undefined', '\ufeff1', '"\u0000"', nested(63), nested(64), nested(200), 'NaN',
];

module.exports = {
  name: 'web-json',
  version: '1.0.0',
  type: 'action',
  run() {
    const written = Object.entries(values).map(([name, value]) => [name, attempt(() => JSON.stringify(value)), attempt(() => JSON.stringify({ value }))]);
    const read = texts.map((text) => attempt(() => shown(JSON.parse(text))));
    const formed = [
      JSON.stringify({ a: [1, { b: 2 }] }, null, 2), JSON.stringify({ a: 1, b: 2 }, ['b']), JSON.stringify([1, 'x'], (key, value) => (key === '0' ? undefined : value)),
      JSON.stringify(undefined), JSON.stringify(null), JSON.stringify(() => {}), JSON.stringify({ a: 1 }, undefined, '--'), attempt(() => JSON.stringify(cycle)), attempt(() => JSON.stringify([10n])),
      shown(JSON.parse('{"a":1,"b":[2]}', (key, value) => (typeof value === 'number' ? value * 2 : value))), shown(JSON.parse('[1]', 7)),
      shown(JSON.parse({ toString: () => '[5]' })), attempt(() => JSON.parse()), JSON.parse.name, JSON.parse.length, JSON.stringify.name, JSON.stringify.length,
    ];
    Object.prototype.toJSON = function toJSON() { return 'all'; };
    const poisoned = JSON.stringify({ a: [] });
    delete Object.prototype.toJSON;
    return { written, read, formed, poisoned, calls };
  },
};
