module.exports = {
  name: 'util formats, inspects, compares and knows types',
  version: '0.0.1',
  type: 'action',
  async run() {
    const util = require('util');
    function Old() {} function Parent() {} Parent.prototype.hi = () => 'hi';
    util.inherits(Old, Parent);
    return {
      format: [util.format('%s is %d years and %i, %j %%', 'Bob', 42.5, 42.9, { a: 1 }), util.format('a', 'b', 3), util.format('%s')],
      inspect: [util.inspect({ a: { b: { c: { d: 1 } } } }), util.inspect('it'), util.inspect([1, [2, [3]]]), util.inspect(new Map([['k', 1]])), util.inspect(null)],
      equal: [util.isDeepStrictEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), util.isDeepStrictEqual([1], ['1']), util.isDeepStrictEqual(new Set([1, { a: 1 }]), new Set([{ a: 1 }, 1])), util.isDeepStrictEqual(new Date(5), new Date(5))],
      types: [util.types.isPromise(Promise.resolve()), util.types.isDate(new Date()), util.types.isRegExp(/x/), util.types.isMap(new Map()), util.types.isUint8Array(Buffer.alloc(1)), util.types.isAsyncFunction(async () => {}), util.types.isNativeError(new TypeError('x'))],
      inherited: new Old().hi(), superclass: Old.super_ === Parent, stripped: util.stripVTControlCharacters('\u001b[31mred\u001b[39m'), styled: util.styleText('red', 'x'),
      text: new util.TextDecoder().decode(new util.TextEncoder().encode('é')), custom: util.inspect({ [util.inspect.custom]: () => 'CUSTOM' }),
      parsed: util.parseArgs({ args: ['-v', '--name', 'x', '--tag=a', '--tag', 'b', 'rest'], options: { verbose: { type: 'boolean', short: 'v' }, name: { type: 'string' }, tag: { type: 'string', multiple: true } }, allowPositionals: true }).values,
    };
  },
};
