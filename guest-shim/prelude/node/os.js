'use strict';
// `os`: an unremarkable Linux machine; nothing here tells of the real one.
const MEMORY_BYTES = 128 * 1024 * 1024;
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGUSR1: 10, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15 };
const os = {
  EOL: '\n',
  devNull: '/dev/null',
  arch: () => 'x64',
  platform: () => 'linux',
  type: () => 'Linux',
  machine: () => 'x86_64',
  release: () => '6.1.0',
  version: () => '#1 SMP',
  hostname: () => 'wellspring',
  homedir: () => '/tmp',
  tmpdir: () => '/tmp',
  endianness: () => 'LE',
  uptime: () => Math.floor(host.elapsed() / 1000),
  loadavg: () => [0, 0, 0],
  totalmem: () => MEMORY_BYTES,
  freemem: () => MEMORY_BYTES / 2,
  availableParallelism: () => 1,
  cpus: () => [{ model: 'wasm', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  networkInterfaces: () => ({}),
  userInfo: () => ({ uid: 1000, gid: 1000, username: 'component', homedir: '/tmp', shell: null }),
  getPriority: () => 0,
  setPriority() {},
  constants: {
    signals: SIGNALS,
    errno: { EPERM: 1, ENOENT: 2, EACCES: 13, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, EPIPE: 32, ECONNRESET: 104, ETIMEDOUT: 110, ECONNREFUSED: 111 },
    priority: { PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20 },
    dlopen: {},
    UV_UDP_REUSEADDR: 4,
  },
};
return os;
