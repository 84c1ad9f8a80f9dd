'use strict';
// What `http` and `https` have in common: a maker of the module for one protocol.
const EventEmitter = internal.builtin('events').exports;
const { Writable } = internal.builtin('stream').exports;
const ClientRequest = internal.lazy('node/http-request');
const IncomingMessage = internal.lazy('node/http-response');
const { validateHeaderName, validateHeaderValue } = internal.lazy('node/http-headers');
const { STATUS_CODES, METHODS } = internal.lazy('node/http-status');
const { URL } = internal.lazy('web/url');

// Connections are pooled outside; an agent here only carries its options.
class Agent extends EventEmitter {
  constructor(options = {}) {
    super();
    Object.assign(this, {
      defaultPort: 80, protocol: 'http:', options: { path: null, ...options }, requests: {}, sockets: {}, freeSockets: {}, keepAlive: options?.keepAlive ?? false,
      keepAliveMsecs: options?.keepAliveMsecs ?? 1000, maxSockets: options?.maxSockets ?? Infinity, maxFreeSockets: options?.maxFreeSockets ?? 256,
      maxTotalSockets: options?.maxTotalSockets ?? Infinity, totalSocketCount: 0, scheduling: options?.scheduling ?? 'lifo',
    });
  }
  getName(options = {}) { return `${options.host ?? 'localhost'}:${options.port ?? ''}:${options.localAddress ?? ''}`; }
  createConnection() { throw internal.nodeErrors.unavailable('Agent.createConnection', 'use fetch or http'); }
  keepSocketAlive() { return true; }
  reuseSocket() {}
  addRequest() {}
  destroy() {}
}

// Packages extend and compare with these; nothing in a component makes one.
class OutgoingMessage extends Writable {}
class ServerResponse extends OutgoingMessage {
  statusCode = 200;
}
class Server extends EventEmitter {
  constructor() {
    super();
    throw internal.nodeErrors.unavailable('http.Server', 'use an HTTP interface prop');
  }
}

const optionsOf = (input, options) => {
  const { urlToHttpOptions } = internal.builtin('url').exports;
  if (typeof input === 'string') return { ...urlToHttpOptions(new URL(input)), ...options };
  if (typeof globalThis.URL === 'function' && input instanceof globalThis.URL) return { ...urlToHttpOptions(input), ...options };
  // Copied with what it inherits: options of old packages are often made by a constructor.
  const copy = {};
  for (const key in input) copy[key] = input[key];
  return copy;
};

return (protocol) => {
  const defaultPort = protocol === 'https:' ? 443 : 80;
  // eslint-disable-next-line no-shadow -- both are `Agent` to a component that asks for their name.
  const OwnAgent = protocol === 'http:' ? Agent : class Agent extends internal.builtin('http').exports.Agent {
    constructor(options) {
      super(options);
      Object.assign(this, { defaultPort, protocol });
    }
  };
  const globalAgent = new OwnAgent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 });
  const module = {
    Agent: OwnAgent,
    globalAgent,
    Server,
    createServer: internal.unavailable(`${protocol.slice(0, -1)}.createServer`, 'use an HTTP interface prop'),
  };
  module.request = function request(input, options, callback) {
    const [settings, done] = typeof options === 'function' ? [undefined, options] : [options, callback];
    const isUrl = typeof input === 'string' || (typeof globalThis.URL === 'function' && input instanceof globalThis.URL);
    const merged = optionsOf(input, isUrl ? settings : undefined);
    const given = { defaultPort, protocol, ...merged, agent: merged.agent === false ? undefined : merged.agent ?? module.globalAgent };
    if (given.protocol === null || given.protocol === undefined) given.protocol = protocol;
    return new ClientRequest({ ...given, _defaultProtocol: given.agent?.protocol ?? protocol }, done);
  };
  module.get = function get(input, options, callback) {
    const request = module.request(input, options, callback);
    request.end();
    return request;
  };
  if (protocol === 'https:') return module;
  return Object.assign(module, {
    METHODS, STATUS_CODES, ClientRequest, IncomingMessage, OutgoingMessage, ServerResponse, validateHeaderName, validateHeaderValue,
    maxHeaderSize: 16384, setMaxIdleHTTPParsers() {},
    get WebSocket() { return globalThis.WebSocket; },
  });
};
