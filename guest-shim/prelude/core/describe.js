'use strict';
// A component as data. Functions become `{"$fn": true}`; what a prop inherits from an app is merged in.
const { isArray, keys, stringify } = internal.primordials;

const FUNCTION = { $fn: true };
const MAX_DEPTH = 32;

const plain = (value, depth) => {
  if (typeof value === 'function') return FUNCTION;
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.toJSON === 'function') return value.toJSON();
  if (depth >= MAX_DEPTH) throw new TypeError('the component nests too deeply or refers to itself');
  if (isArray(value)) return value.map((item) => plain(item, depth + 1));
  const copy = {};
  for (const key of keys(value)) copy[key] = plain(value[key], depth + 1);
  return copy;
};

// Of an app, what it is and what a user is told of it; its code stays here.
const TOLD_OF_APPS = ['label', 'description', 'optional'];

const shallowApp = (definition) => {
  const { type, app, propDefinitions, methods } = definition;
  const described = { type, app, propDefinitions: keys(propDefinitions ?? {}), methods: keys(methods ?? {}) };
  for (const name of TOLD_OF_APPS) {
    if (definition[name] !== undefined) described[name] = plain(definition[name], 0);
  }
  return described;
};

// `propDefinition: [app, name, input]`: the app's definition under the prop's own properties.
internal.inheritProp = (definition) => {
  const { propDefinition, ...own } = definition;
  if (!isArray(propDefinition)) return { definition };
  const [app, name, input] = propDefinition;
  const inherited = app?.propDefinitions?.[name];
  if (typeof inherited !== 'object' || inherited === null) {
    return { definition: own, error: `the app has no propDefinition named ${stringify(name)}` };
  }
  const base = internal.inheritProp(inherited);
  return { definition: { ...base.definition, ...own }, app, name, input, inherited: own.options === undefined };
};

const describeProp = (declared) => {
  const definition = internal.propDefinition(declared);
  if (typeof definition !== 'object' || definition === null || isArray(definition)) return plain(definition, 0);
  if (definition.type === 'app') return shallowApp(definition);
  if (definition.propDefinition === undefined) return plain(definition, 0);
  const merged = internal.inheritProp(definition);
  const origin = merged.error !== undefined
    ? { error: merged.error }
    : { app: merged.app.app, name: merged.name, hasInput: merged.input !== undefined };
  return { ...plain(merged.definition, 0), propDefinition: origin };
};

internal.describe = (component) => {
  const { props, methods, hooks, ...rest } = component;
  const description = plain(rest, 0);
  if (typeof props === 'object' && props !== null && !isArray(props)) {
    description.props = {};
    for (const name of keys(props)) description.props[name] = describeProp(props[name]);
  } else if (props !== undefined) {
    description.props = plain(props, 0);
  }
  if (methods !== undefined) description.methods = plain(methods, 0);
  if (hooks !== undefined) description.hooks = plain(hooks, 0);
  return stringify(description);
};
