'use strict';
// `$` of an action, and the answer to an HTTP request.
const { stringify, TypeError } = internal.primordials;

// In the order of `effect` in wit/effects.wit.
const EXPORT = 0;
const EXIT = 2;
const SENDS = { http: 3, email: 4, s3: 5, emit: 6, sse: 7 };
const EMPTY = new Uint8Array(0);
const BYTES = 'application/octet-stream';

const json = (value, what) => {
  const text = stringify(value);
  if (text === undefined) throw new TypeError(`${what} must be a value that JSON can hold`);
  return text;
};

const send = (name, parameters) => host.perform(SENDS[name], json(parameters, `the parameters of ${name}`));

// UTF-8 of a string, without relying on a global a component may have replaced.
const encode = (string) => host.encodeUtf8(internal.text(string));

// What has JSON, and yet is not what its author means to send.
const checkBody = (body) => {
  if (typeof body.then === 'function') throw new TypeError('respond: the body is a promise: await it');
  if (typeof body.getReader === 'function' || typeof body.pipe === 'function') {
    throw new TypeError('respond: the body is a stream: read it, for instance with `await new Response(stream).bytes()`');
  }
  if (typeof body.arrayBuffer === 'function') {
    throw new TypeError('respond: the body has to be read: give its `await body.arrayBuffer()` or `await body.text()`');
  }
};

const bodyBytes = (body) => {
  if (body === undefined || body === null) return { bytes: EMPTY };
  if (typeof body === 'string') return { bytes: encode(body), type: 'text/plain; charset=utf-8' };
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body), type: BYTES };
  if (ArrayBuffer.isView(body)) return { bytes: new Uint8Array(body.buffer, body.byteOffset, body.byteLength), type: BYTES };
  if (typeof body === 'object') checkBody(body);
  // Its class is not named here, because it is loaded when it is.
  if (body[Symbol.toStringTag] === 'URLSearchParams') {
    return { bytes: encode(String(body)), type: 'application/x-www-form-urlencoded; charset=utf-8' };
  }
  return { bytes: encode(json(body, 'the body')), type: 'application/json' };
};

// The host would leave out what is no header; here its author is told.
const checkHeader = (name, values) => {
  if (!/^[-!#$%&'*+.^_`|~0-9A-Za-z]+$/.test(name)) throw new TypeError(`respond: ${stringify(name)} is not the name of a header`);
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(values)) throw new TypeError(`respond: the header ${name} holds control characters`);
};

// Of an object, of pairs, or of what has pairs: `Headers`, a map.
const headerPairs = (headers) => {
  if (Array.isArray(headers)) return headers;
  return typeof headers.entries === 'function' ? headers.entries() : Object.entries(headers);
};

// What `this.http.respond` and `$.respond` take: `{status, headers, body}`.
const respond = (reply) => {
  if (typeof reply !== 'object' || reply === null) throw new TypeError('respond takes an object: {status, headers, body}');
  const status = typeof reply.status === 'string' && /^\d{3}$/.test(reply.status) ? Number(reply.status) : reply.status;
  if (!Number.isInteger(status) || status < 100 || status > 599) {
    throw new TypeError('respond needs a status from 100 to 599');
  }
  const { bytes, type } = bodyBytes(reply.body);
  if (reply.headers === undefined || reply.headers === null) {
    return host.respond(`{"status":${status},"headers":{${type === undefined ? '' : `"content-type":"${type}"`}}}`, bytes);
  }
  const headers = {};
  for (const [name, value] of headerPairs(reply.headers)) {
    if (value === undefined || value === null) continue;
    // What was fetched is decoded, and its headers still say how it was encoded; text never is.
    if (type !== undefined && type !== BYTES && String(name).toLowerCase() === 'content-encoding') continue;
    const values = Array.isArray(value) ? value.map(String) : String(value);
    checkHeader(name, values);
    headers[name] = Object.hasOwn(headers, name) ? [headers[name], values].flat() : values;
  }
  const isTyped = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  if (type !== undefined && !isTyped) headers['content-type'] = type;
  return host.respond(json({ status, headers }, 'the headers'), bytes);
};

internal.respond = respond;

internal.makeActionContext = () => ({
  export: (name, value) => host.perform(EXPORT, `{"name":${stringify(internal.text(name))},"value":${stringify(value) ?? 'null'}}`),
  respond: (reply) => { respond(reply); },
  flow: {
    exit: (reason) => {
      host.perform(EXIT, `{"reason":${stringify(reason === undefined ? '' : internal.text(reason))}}`);
      return undefined;
    },
  },
  send: {
    http: (parameters) => send('http', parameters),
    email: (parameters) => send('email', parameters),
    s3: (parameters) => send('s3', parameters),
    emit: (parameters) => send('emit', parameters),
    sse: (parameters) => send('sse', parameters),
  },
});
