'use strict';
// The table of Node's modules. Each is evaluated when it is first required.
const part = (name) => () => internal.lazy(`node/${name}`);
const define = (name, make) => internal.defineBuiltin(name, make);
const property = (name, key) => () => internal.builtin(name).exports[key];

const PARTS = [
  'assert', 'async_hooks', 'buffer', 'constants', 'crypto', 'diagnostics_channel', 'dns', 'events', 'fs', 'http', 'https', 'module', 'os',
  'path', 'perf_hooks', 'punycode', 'querystring', 'readline', 'stream', 'string_decoder', 'timers', 'tty', 'url', 'util', 'v8', 'vm', 'zlib',
];
for (const name of PARTS) define(name, part(name));

define('assert/strict', property('assert', 'strict'));
define('console', () => globalThis.console);
define('dns/promises', property('dns', 'promises'));
define('fs/promises', property('fs', 'promises'));
define('path/posix', property('path', 'posix'));
define('path/win32', property('path', 'win32'));
define('readline/promises', property('readline', 'promises'));
define('stream/promises', property('stream', 'promises'));
define('stream/consumers', part('stream-consumers'));
define('stream/web', part('stream-web'));
define('sys', () => internal.builtin('util').exports);
define('timers/promises', property('timers', 'promises'));
define('util/types', property('util', 'types'));

for (const name of ['child_process', 'cluster', 'dgram', 'domain', 'http2', 'inspector', 'net', 'repl', 'sea', 'sqlite', 'tls', 'trace_events', 'wasi', 'worker_threads']) {
  define(name, () => internal.lazy('node/unavailable')[name]());
}
define('inspector/promises', () => internal.lazy('node/unavailable').inspector());
for (const [name, key] of Object.entries({ _stream_readable: 'Readable', _stream_writable: 'Writable', _stream_duplex: 'Duplex', _stream_transform: 'Transform', _stream_passthrough: 'PassThrough' })) {
  define(name, property('stream', key));
}
