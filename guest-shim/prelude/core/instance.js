'use strict';
// The instance a component's functions see as `this`: props, bound methods, `$emit`.
const { parse, stringify, keys, bind, isArray, isFinite, TypeError } = internal.primordials;
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

const makeHttp = (value) => ({ endpoint: value?.endpoint_url ?? value?.endpoint, respond: internal.respond });

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

const propValue = (name, definition, value) => {
  switch (definition?.type) {
    case 'app': return internal.makeApp(name, definition);
    case '$.service.db': return makeDb();
    case '$.interface.http': return makeHttp(value);
    case '$.interface.timer': return makeTimer(value);
    default: return value;
  }
};

const isGiven = (value) => value !== undefined && value !== null;

// Written by hand because every emit pays for it: `stringify` of an object of two fields costs as much as all the rest.
const metadata = (given) => {
  if (!isGiven(given)) return '{}';
  const { id, name, summary, ts, delivery_ts } = given;
  let json = `{"id":${idJson(id)}`;
  if (isGiven(name)) json += `,"name":${quote(name)}`;
  if (isGiven(summary)) json += `,"summary":${quote(summary)}`;
  if (isFinite(ts)) json += `,"ts":${ts}`;
  if (isFinite(delivery_ts)) json += `,"delivery_ts":${delivery_ts}`;
  return `${json}}`;
};

const idJson = (id) => {
  if (typeof id === 'number') return isFinite(id) ? id : 'null';
  return isGiven(id) ? quote(id) : 'null';
};

const emit = (event, given) => {
  const text = stringify(event);
  host.emit(text === undefined ? 'null' : text, metadata(given));
};

internal.makeInstance = (component, call) => {
  internal.beginRun(call);
  const self = {};
  const { props } = component;
  if (props !== undefined && props !== null) {
    const values = call.props ?? {};
    for (const name of keys(props)) self[name] = propValue(name, resolved(props[name]), values[name]);
  }
  bindMethods(self, component.methods);
  self.$emit = emit;
  return self;
};

internal.checkComponent = (component) => {
  if (typeof component !== 'object' || component === null || isArray(component)) {
    const what = component === null ? 'null' : isArray(component) ? 'an array' : `a ${typeof component}`;
    throw new TypeError(`the component exports ${what}; it must export an object: module.exports = {name, version, run() {}}`);
  }
};
