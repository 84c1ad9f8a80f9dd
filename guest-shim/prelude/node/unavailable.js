'use strict';
// Modules that cannot work in the sandbox. They load, because packages require them for parts that are not used; they have
// the names that packages read while loading; and what is used says why it does not work.
const EventEmitter = () => internal.builtin('events').exports;
const NETWORK = 'use fetch or http';
const refuse = (module, names, instead) => Object.fromEntries(names.map((name) => [name, internal.unavailable(`${module}.${name}`, instead)]));

// A class that can be extended and compared with, not constructed.
const refusedClass = (module, name, instead, Parent = Object) => ({
  [name]: class extends Parent {
    constructor() {
      super();
      throw internal.nodeErrors.unavailable(`new ${module}.${name}`, instead);
    }
  },
})[name];

const net = () => {
  const { Duplex } = internal.builtin('stream').exports;
  const Socket = refusedClass('net', 'Socket', NETWORK, Duplex);
  return {
    ...internal.lazy('node/ip'),
    ...refuse('net', ['connect', 'createConnection', 'createServer'], NETWORK),
    Socket,
    Stream: Socket,
    Server: refusedClass('net', 'Server', 'use an HTTP interface prop', EventEmitter()),
    BlockList: class BlockList { addAddress() {} addRange() {} addSubnet() {} check() { return false; } },
    SocketAddress: refusedClass('net', 'SocketAddress'),
    getDefaultAutoSelectFamily: () => true,
    setDefaultAutoSelectFamily() {},
    getDefaultAutoSelectFamilyAttemptTimeout: () => 250,
    setDefaultAutoSelectFamilyAttemptTimeout() {},
  };
};

// http2-wrapper (of got) makes one while it loads, to find the class that Node wraps streams in.
const makeTlsSocket = () => {
  const { Duplex } = internal.builtin('stream').exports;
  class JSStreamSocket extends Duplex {
    constructor(stream) {
      super();
      this.stream = stream;
    }
  }
  return class TLSSocket extends Duplex {
    constructor(stream, options) {
      super();
      Object.assign(this, { encrypted: true, authorized: false, _handle: { _parentWrap: new JSStreamSocket(stream) }, _tlsOptions: options });
    }
    _read() { this.destroy(internal.nodeErrors.unavailable('tls.TLSSocket', NETWORK)); }
    _write(chunk, encoding, callback) { callback(internal.nodeErrors.unavailable('tls.TLSSocket', NETWORK)); }
  };
};

const tls = () => ({
  ...refuse('tls', ['connect', 'createServer', 'createSecurePair'], NETWORK),
  // Certificates are checked by the host, which performs the request; options made of these are accepted and ignored.
  createSecureContext: (options) => ({ context: {}, options }),
  checkServerIdentity: () => undefined,
  getCiphers: () => ['tls_aes_256_gcm_sha384', 'tls_chacha20_poly1305_sha256', 'tls_aes_128_gcm_sha256'],
  TLSSocket: makeTlsSocket(),
  Server: refusedClass('tls', 'Server', 'use an HTTP interface prop', EventEmitter()),
  SecureContext: class SecureContext {},
  rootCertificates: [],
  DEFAULT_MIN_VERSION: 'TLSv1.2',
  DEFAULT_MAX_VERSION: 'TLSv1.3',
  DEFAULT_ECDH_CURVE: 'auto',
  DEFAULT_CIPHERS: 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256',
  CLIENT_RENEG_LIMIT: 3,
  CLIENT_RENEG_WINDOW: 600,
});

const child_process = () => ({
  ...refuse('child_process', ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']),
  ChildProcess: refusedClass('child_process', 'ChildProcess', undefined, EventEmitter()),
});

const cluster = () => Object.assign(new (EventEmitter())(), {
  isMaster: true, isPrimary: true, isWorker: false, workers: {}, settings: {}, SCHED_NONE: 1, SCHED_RR: 2, schedulingPolicy: 2,
  setupMaster() {}, setupPrimary() {}, ...refuse('cluster', ['fork', 'disconnect']),
  Worker: refusedClass('cluster', 'Worker', undefined, EventEmitter()),
});

const dgram = () => ({
  ...refuse('dgram', ['createSocket'], NETWORK),
  Socket: refusedClass('dgram', 'Socket', NETWORK, EventEmitter()),
});

const HEADERS = {
  HTTP2_HEADER_STATUS: ':status', HTTP2_HEADER_METHOD: ':method', HTTP2_HEADER_AUTHORITY: ':authority', HTTP2_HEADER_SCHEME: ':scheme', HTTP2_HEADER_PATH: ':path',
  HTTP2_HEADER_CONTENT_TYPE: 'content-type', HTTP2_HEADER_CONTENT_LENGTH: 'content-length', HTTP2_HEADER_CONTENT_ENCODING: 'content-encoding',
  HTTP2_HEADER_ACCEPT: 'accept', HTTP2_HEADER_ACCEPT_ENCODING: 'accept-encoding', HTTP2_HEADER_AUTHORIZATION: 'authorization', HTTP2_HEADER_USER_AGENT: 'user-agent',
  HTTP2_HEADER_TE: 'te', HTTP2_HEADER_COOKIE: 'cookie', HTTP2_HEADER_SET_COOKIE: 'set-cookie', HTTP2_HEADER_HOST: 'host', HTTP2_HEADER_CONNECTION: 'connection',
  HTTP2_HEADER_UPGRADE: 'upgrade', HTTP2_HEADER_TRANSFER_ENCODING: 'transfer-encoding', HTTP2_HEADER_KEEP_ALIVE: 'keep-alive', HTTP2_HEADER_PROXY_CONNECTION: 'proxy-connection',
  HTTP2_HEADER_HTTP2_SETTINGS: 'http2-settings', HTTP2_HEADER_LOCATION: 'location',
};
const http2 = () => ({
  ...refuse('http2', ['connect', 'createServer', 'createSecureServer', 'performServerHandshake'], NETWORK),
  getDefaultSettings: () => ({ headerTableSize: 4096, enablePush: true, initialWindowSize: 65535, maxFrameSize: 16384 }),
  getPackedSettings: () => internal.Buffer.alloc(0),
  getUnpackedSettings: () => ({}),
  sensitiveHeaders: Symbol('nodejs.http2.sensitiveHeaders'),
  constants: {
    ...HEADERS,
    HTTP2_METHOD_GET: 'GET', HTTP2_METHOD_HEAD: 'HEAD', HTTP2_METHOD_POST: 'POST', HTTP2_METHOD_PUT: 'PUT', HTTP2_METHOD_DELETE: 'DELETE', HTTP2_METHOD_CONNECT: 'CONNECT',
    HTTP_STATUS_OK: 200, HTTP_STATUS_NOT_FOUND: 404,
    NGHTTP2_NO_ERROR: 0, NGHTTP2_PROTOCOL_ERROR: 1, NGHTTP2_INTERNAL_ERROR: 2, NGHTTP2_REFUSED_STREAM: 7, NGHTTP2_CANCEL: 8, NGHTTP2_SESSION_CLIENT: 1, NGHTTP2_SESSION_SERVER: 0,
    NGHTTP2_DEFAULT_WEIGHT: 16, NGHTTP2_FLAG_NONE: 0, NGHTTP2_FLAG_END_STREAM: 1,
  },
  Http2ServerRequest: refusedClass('http2', 'Http2ServerRequest'),
  Http2ServerResponse: refusedClass('http2', 'Http2ServerResponse'),
});

const worker_threads = () => ({
  isMainThread: true,
  isInternalThread: false,
  parentPort: null,
  workerData: null,
  threadId: 0,
  resourceLimits: {},
  SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
  Worker: refusedClass('worker_threads', 'Worker', undefined, EventEmitter()),
  MessageChannel: globalThis.MessageChannel ?? refusedClass('worker_threads', 'MessageChannel'),
  MessagePort: globalThis.MessagePort ?? refusedClass('worker_threads', 'MessagePort', undefined, EventEmitter()),
  BroadcastChannel: refusedClass('worker_threads', 'BroadcastChannel'),
  markAsUntransferable() {},
  isMarkedAsUntransferable: () => false,
  getEnvironmentData: () => undefined,
  setEnvironmentData() {},
  ...refuse('worker_threads', ['receiveMessageOnPort', 'moveMessagePortToContext', 'postMessageToThread']),
});

const domain = () => {
  class Domain extends EventEmitter() {
    run(callback, ...args) { return callback(...args); }
    bind(callback) { return callback; }
    intercept(callback) { return (error, ...args) => (error ? this.emit('error', error) : callback(...args)); }
    add() {}
    remove() {}
    enter() {}
    exit() {}
    dispose() {}
  }
  return { Domain, create: () => new Domain(), createDomain: () => new Domain(), active: null };
};

return {
  net,
  tls,
  child_process,
  cluster,
  dgram,
  http2,
  worker_threads,
  domain,
  inspector: () => ({ ...refuse('inspector', ['open', 'waitForDebugger']), Session: refusedClass('inspector', 'Session', undefined, EventEmitter()), close() {}, url: () => undefined, console: globalThis.console }),
  repl: () => ({ ...refuse('repl', ['start']), REPLServer: refusedClass('repl', 'REPLServer', undefined, EventEmitter()), builtinModules: internal.builtinNames() }),
  sea: () => ({ isSea: () => false, ...refuse('sea', ['getAsset', 'getAssetAsBlob', 'getRawAsset']) }),
  sqlite: () => ({ DatabaseSync: refusedClass('sqlite', 'DatabaseSync', 'use a $.service.db prop'), StatementSync: refusedClass('sqlite', 'StatementSync') }),
  trace_events: () => ({ createTracing: () => ({ enable() {}, disable() {}, enabled: false, categories: '' }), getEnabledCategories: () => undefined }),
  wasi: () => ({ WASI: refusedClass('wasi', 'WASI') }),
};
