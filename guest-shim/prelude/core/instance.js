'use strict';
// The instance a component's functions see as `this`: props, bound methods, `$emit`.
const { parse, stringify, keys, hasOwn, bind, isArray, isFinite, Number, TypeError } = internal.primordials;
const quote = (value) => stringify(internal.text(value));

// `x: "string"` is short for `x: {type: "string"}`.
internal.propDefinition = (declared) => (typeof declared === 'string' ? { type: declared } : declared);

// A prop taken from an app may be of any type, a store or a timer as well.
const resolved = (declared) => {
  const definition = internal.propDefinition(declared);
  return definition?.propDefinition === undefined ? definition : internal.inheritProp(definition).definition;
};

const isFunction = (value) => typeof value === 'function';

const makeDb = () => ({
  get(key) {
    const stored = host.dbGet(internal.text(key));
    return stored === undefined || stored === null ? undefined : parse(stored);
  },
  set(key, value) {
    const text = stringify(value);
    if (text === undefined) host.dbSet(internal.text(key));
    else host.dbSet(internal.text(key), text);
  },
});

const unasked = () => {
  internal.logLine('warn', 'respond does nothing: its prop needs `customResponse: true`');
};
const makeHttp = (definition) => ({ endpoint: undefined, respond: definition.customResponse === true ? internal.respond : unasked });
const setEndpoint = (http, value) => {
  http.endpoint = value?.endpoint_url ?? value?.endpoint;
  return http;
};

const makeTimer = (value) => ({
  ...value,
  cron: value?.cron ?? null,
  interval_seconds: value?.interval_seconds ?? value?.intervalSeconds ?? null,
  intervalSeconds: value?.intervalSeconds ?? value?.interval_seconds ?? null,
});

const bindMethods = (self, methods) => {
  if (methods === undefined || methods === null) return;
  for (const name of keys(methods)) self[name] = isFunction(methods[name]) ? bind(methods[name], self) : methods[name];
};

internal.makeApp = (name, definition) => {
  const { methods, ...rest } = definition;
  const app = { ...rest };
  let credentials;
  Object.defineProperty(app, '$auth', {
    enumerable: true,
    configurable: true,
    get: () => (credentials ??= parse(host.credentials(name) ?? '{}')),
    set: (value) => { credentials = value; },
  });
  bindMethods(app, methods);
  return app;
};

const same = (_, value) => value;
const nothing = () => undefined;

// What `this` has under a prop's name: `make` is what it can have before the value is known, and `take` makes the rest of that
// and the value; where there is no `take` there is no more to it.
const kindOfProp = (name, definition) => {
  switch (definition?.type) {
    case 'app': return { name, make: () => internal.makeApp(name, definition) };
    case '$.service.db': return { name, make: makeDb };
    case '$.interface.http': return { name, make: () => makeHttp(definition), take: setEndpoint };
    case '$.interface.timer': return { name, make: nothing, take: (_, value) => makeTimer(value) };
    default: return { name, make: nothing, take: same };
  }
};

let kinds = [];
// An instance and `$` that no call has taken yet.
let ready;

// When a component loads, so that its runs need not: they start from the image of that.
internal.prepareInstance = (component) => {
  const { props } = component;
  kinds = keys(props ?? {}).map((name) => kindOfProp(name, resolved(props[name])));
  try {
    ready = make(component);
  } catch {
    // Code of the component failed, in a getter: the run that makes it again tells.
  }
};

// Names come in the order of the declaration, then the methods, then what is the platform's.
const make = ({ type, methods }) => {
  const self = {};
  for (let index = 0; index < kinds.length; index++) self[kinds[index].name] = kinds[index].make();
  bindMethods(self, methods);
  self.$emit = emit;
  const $ = type === 'action' ? internal.makeActionContext() : undefined;
  if ($ !== undefined) self.$ = $;
  // What bears the name of a prop and came after it counts more.
  const awaited = kinds.filter(({ name, take }) => take !== undefined && self[name] !== emit && !hasOwn(methods ?? {}, name));
  return { self, $, awaited };
};

const isGiven = (value) => value !== undefined && value !== null;

const LAST_DATE_MS = 8.64e15;
const { parse: parseDate } = Date;
let hasWarned = false;

// Epoch milliseconds, as dates and their texts have them too.
const instant = (value, name) => {
  if (!isGiven(value)) return undefined;
  let ms = isArray(value) || value === '' ? NaN : Number(value);
  if (typeof value === 'string' && !isFinite(ms)) ms = parseDate(value);
  if (isFinite(ms) && ms >= -LAST_DATE_MS && ms <= LAST_DATE_MS) return ms;
  if (!hasWarned) internal.logLine('warn', `$emit: \`${name}\` is left out, because it is no time: give epoch milliseconds, a Date or an ISO 8601 text.`);
  hasWarned = true;
  return undefined;
};

const metadata = (given) => {
  if (!isGiven(given)) return '{}';
  const { id, name, summary } = given;
  const [ts, delivery_ts] = [instant(given.ts, 'ts'), instant(given.delivery_ts, 'delivery_ts')];
  let json = `{"id":${idJson(id)}`;
  if (isGiven(name)) json += `,"name":${quote(name)}`;
  if (isGiven(summary)) json += `,"summary":${quote(summary)}`;
  if (ts !== undefined) json += `,"ts":${ts}`;
  if (delivery_ts !== undefined) json += `,"delivery_ts":${delivery_ts}`;
  return `${json}}`;
};

// What is neither text nor a number has no place in it; its type is enough for the host to refuse the event.
const idJson = (id) => {
  switch (typeof id) {
    case 'number': return isFinite(id) ? id : 'null';
    case 'string':
    case 'bigint': return quote(id);
    case 'boolean': return id ? 'true' : 'false';
    default: return !isGiven(id) ? 'null' : isArray(id) ? '[]' : '{}';
  }
};

const emit = (event, given) => {
  if (!host.emitPlain(event, given)) host.emit(stringify(event) ?? 'null', metadata(given));
};

internal.makeInstance = (component, call) => {
  internal.beginRun(call);
  const { self, $, awaited } = ready ?? make(component);
  ready = undefined;
  const values = call.props ?? {};
  for (let index = 0; index < awaited.length; index++) {
    const { name, take } = awaited[index];
    self[name] = take(self[name], values[name]);
  }
  if (call.kind === 'action') self.$ = $ ?? internal.makeActionContext();
  return self;
};

internal.checkComponent = (component) => {
  if (typeof component !== 'object' || component === null || isArray(component)) {
    const what = component === null ? 'null' : isArray(component) ? 'an array' : `a ${typeof component}`;
    throw new TypeError(`the component exports ${what}; it must export an object: module.exports = {name, version, run() {}}`);
  }
};
