// StructuredClone copies what JSON cannot.
module.exports = {
  name: 'web-structured-clone',
  version: '1.0.0',
  type: 'action',
  async run() {
    const value = { map: new Map([['k', new Set([1])]]), date: new Date(5), pattern: /x/gi, bytes: Uint8Array.of(1, 2), error: new RangeError('r', { cause: 'c' }), big: 5n };
    value.self = value;
    const copy = structuredClone(value);
    return [copy.map.get('k').has(1), copy.date.getTime(), String(copy.pattern), [...copy.bytes], copy.error instanceof RangeError, copy.error.cause, copy.self === copy, copy.map !== value.map, String(copy.big)];
  },
};
