'use strict';
// The global `process`: one process, one run, nothing around it.
const { codedError } = internal;
const { requireFunction, invalidArgType, unavailable } = internal.nodeErrors;

const VERSION = '22.11.0';
// What a run is given by default; packages only ever print these or compare them with each other.
const MEMORY_BYTES = 128 * 1024 * 1024;

let ticks = [];

const nextTick = function nextTick(callback, ...args) {
  requireFunction(callback, 'callback');
  host.queueTicks();
  const tick = () => callback(...args);
  ticks.push(internal.bindAsyncContext === undefined ? tick : internal.bindAsyncContext(tick));
};

// Called by the event loop before promise jobs and again when they are all done, which is Node's order.
internal.runTicks = () => {
  if (ticks.length === 0) return false;
  for (let at = 0; at < ticks.length; at++) {
    const tick = ticks[at];
    ticks[at] = undefined;
    try {
      tick();
    } catch (error) {
      internal.fail(error);
    }
  }
  ticks = [];
  return true;
};
internal.entryPoints.runTicks = internal.runTicks;

const hrtime = (previous) => {
  const now = host.elapsed();
  let seconds = Math.floor(now / 1000);
  let nanoseconds = Math.floor((now % 1000) * 1e6);
  if (previous !== undefined) {
    if (!Array.isArray(previous)) throw invalidArgType('time', 'an instance of Array', previous);
    seconds -= previous[0];
    nanoseconds -= previous[1];
    if (nanoseconds < 0) {
      seconds -= 1;
      nanoseconds += 1e9;
    }
  }
  return [seconds, nanoseconds];
};
hrtime.bigint = () => BigInt(Math.floor(host.elapsed() * 1e6));

// Nothing ever happens to this process that it could tell: a run that fails is reported by the platform.
const listeners = {
  on() { return this; },
  once() { return this; },
  off() { return this; },
  addListener() { return this; },
  prependListener() { return this; },
  prependOnceListener() { return this; },
  removeListener() { return this; },
  removeAllListeners() { return this; },
  setMaxListeners() { return this; },
  getMaxListeners: () => 10,
  emit: () => false,
  listeners: () => [],
  rawListeners: () => [],
  listenerCount: () => 0,
  eventNames: () => [],
};

const decoded = (chunk, encoding) => (typeof chunk === 'string' ? chunk : internal.Buffer.from(chunk).toString(typeof encoding === 'string' ? encoding : 'utf8'));

// Lines of the log; what is written without a newline at its end is a line all the same.
const makeOutput = (fd, level) => ({
  fd,
  isTTY: false,
  writable: true,
  columns: 80,
  _type: 'pipe',
  write(chunk, encoding, callback) {
    internal.logLine(level, decoded(chunk, encoding).replace(/\n$/, ''));
    const done = typeof encoding === 'function' ? encoding : callback;
    if (typeof done === 'function') nextTick(done);
    return true;
  },
  end(chunk) { if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk); },
  getColorDepth: () => 1,
  hasColors: () => false,
  cork() {},
  uncork() {},
  destroy() { return this; },
  ...listeners,
});

const emitWarning = (warning, typeOrOptions, code) => {
  const options = typeof typeOrOptions === 'object' && typeOrOptions !== null ? typeOrOptions : { type: typeOrOptions, code };
  const isError = warning instanceof Error;
  const name = isError ? warning.name : typeof options.type === 'string' ? options.type : 'Warning';
  const label = options.code === undefined || typeof options.code !== 'string' ? '' : `[${options.code}] `;
  internal.logLine('warn', `${label}${name}: ${isError ? warning.message : warning}`);
};

const ids = Object.fromEntries(['getuid', 'geteuid', 'getgid', 'getegid'].map((name) => [name, () => 1000]));
const refused = (name, instead) => () => { throw unavailable(`process.${name}`, instead); };

const process = {
  title: 'node',
  version: `v${VERSION}`,
  versions: { node: VERSION, v8: '12.4.254.21-node.21', uv: '1.48.0', zlib: '1.3.0', modules: '127', openssl: '3.0.15' },
  release: { name: 'node', lts: 'Jod' },
  arch: 'x64',
  platform: 'linux',
  argv: ['/usr/local/bin/node', '/component.js'],
  argv0: 'node',
  execArgv: [],
  execPath: '/usr/local/bin/node',
  env: {},
  pid: 1,
  ppid: 0,
  exitCode: undefined,
  debugPort: 9229,
  config: { target_defaults: {}, variables: {} },
  features: { inspector: false, debug: false, uv: false, ipv6: true, tls: true, typescript: false },
  allowedNodeEnvironmentFlags: new Set(),
  noDeprecation: false,
  nextTick,
  hrtime,
  emitWarning,
  uptime: () => host.elapsed() / 1000,
  cwd: () => '/',
  chdir: refused('chdir'),
  umask: () => 0o22,
  memoryUsage: Object.assign(
    () => ({ rss: MEMORY_BYTES / 2, heapTotal: MEMORY_BYTES / 2, heapUsed: MEMORY_BYTES / 4, external: 0, arrayBuffers: 0 }),
    { rss: () => MEMORY_BYTES / 2 },
  ),
  constrainedMemory: () => MEMORY_BYTES,
  availableMemory: () => MEMORY_BYTES / 2,
  cpuUsage: () => ({ user: Math.floor(host.elapsed() * 1000), system: 0 }),
  resourceUsage: () => ({ userCPUTime: Math.floor(host.elapsed() * 1000), systemCPUTime: 0, maxRSS: MEMORY_BYTES / 2048 }),
  getgroups: () => [1000],
  ...ids,
  exit: (code) => { throw codedError('ERR_PROCESS_EXIT', `process.exit(${code ?? ''}) was called: a component ends by returning from run`); },
  abort: refused('abort', 'throw an error instead'),
  kill: refused('kill'),
  dlopen: refused('dlopen'),
  binding: refused('binding'),
  getBuiltinModule: (name) => internal.builtin(name)?.exports,
  setUncaughtExceptionCaptureCallback() {},
  hasUncaughtExceptionCaptureCallback: () => false,
  setSourceMapsEnabled() {},
  report: undefined,
  ...listeners,
};
process.stdout = makeOutput(1, 'info');
process.stderr = makeOutput(2, 'error');
process.stdin = { fd: 0, isTTY: false, readable: false, read: () => null, resume() { return this; }, pause() { return this; }, setEncoding() { return this; }, pipe: (to) => to, ...listeners };
Object.defineProperty(process, Symbol.toStringTag, { value: 'process', configurable: true });

// The environment a component sees is what its call brings: nothing of the server's.
internal.beginRun = (call) => {
  for (const name in call.env) process.env[name] = String(call.env[name]);
};

internal.process = process;
Object.defineProperty(globalThis, 'process', { value: process, writable: true, configurable: true });
internal.defineBuiltin('process', () => process);
