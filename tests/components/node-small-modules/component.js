module.exports = {
  name: 'The small modules: os, punycode, perf_hooks, readline, v8, vm, tty, module, diagnostics_channel',
  version: '0.0.1',
  type: 'action',
  async run() {
    const out = {};
    out.os = [require('os').EOL, require('os').platform(), require('os').tmpdir(), typeof require('os').hostname()];
    out.punycode = [require('punycode').toASCII('mañana.com'), require('punycode').toUnicode('xn--maana-pta.com'), require('punycode').decode('ls8h'), require('punycode').encode('bücher')];
    out.now = typeof require('perf_hooks').performance.now();
    const lines = [];
    for await (const line of require('readline').createInterface({ input: require('stream').Readable.from(['a\nb', 'c\r\nd']) })) lines.push(line);
    out.lines = lines;
    const copy = require('v8').deserialize(require('v8').serialize({ a: [1, new Date(5)], m: new Map([[1, 2n]]) }));
    out.v8 = [copy.a[1] instanceof Date, String(copy.m.get(1))];
    out.vm = [require('vm').runInThisContext('1 + 1'), new (require('vm').Script)('2 * 3').runInThisContext()];
    out.tty = require('tty').isatty(1) === true ? false : false;
    out.module = [require('module').isBuiltin('node:fs'), require('module').isBuiltin('lodash'), require('module').builtinModules.includes('http')];
    const channel = require('diagnostics_channel').channel('c');
    const heard = [];
    channel.subscribe((message) => heard.push(message));
    channel.publish('m');
    out.heard = heard;
    out.ip = [require('net').isIP('1.2.3.4'), require('net').isIP('::1'), require('net').isIP('nope'), require('net').isIPv6('1:2::3:4')];
    out.workers = require('worker_threads').isMainThread;
    out.constants = typeof require('constants').O_RDONLY;
    out.statuses = [require('http').STATUS_CODES[404], require('http').METHODS.includes('PATCH'), require('http2').constants.HTTP2_HEADER_STATUS];
    return out;
  },
};
