'use strict';
// The instance a component's functions see as `this`: props, bound methods, `$emit`.
const { parse, stringify, keys, bind, isArray, isFinite, TypeError } = internal.primordials;

// `x: "string"` is short for `x: {type: "string"}`.
internal.propDefinition = (declared) => (typeof declared === 'string' ? { type: declared } : declared);

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
  for (const name of keys(methods ?? {})) self[name] = isFunction(methods[name]) ? bind(methods[name], self) : methods[name];
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

const metadata = (given) => {
  const { id, name, summary, ts, delivery_ts } = given ?? {};
  const kept = {};
  if (typeof id === 'number' || typeof id === 'string') kept.id = id;
  else if (id !== undefined && id !== null) kept.id = internal.text(id);
  if (name !== undefined && name !== null) kept.name = internal.text(name);
  if (summary !== undefined && summary !== null) kept.summary = internal.text(summary);
  if (isFinite(ts)) kept.ts = ts;
  if (isFinite(delivery_ts)) kept.delivery_ts = delivery_ts;
  return stringify(kept);
};

const emit = (event, given) => {
  const text = stringify(event);
  host.emit(text === undefined ? 'null' : text, metadata(given));
};

internal.makeInstance = (component, call) => {
  const self = {};
  const values = call.props ?? {};
  const props = component.props ?? {};
  for (const name of keys(props)) self[name] = propValue(name, internal.propDefinition(props[name]), values[name]);
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
