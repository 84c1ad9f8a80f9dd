'use strict';
// Values as text for people, after Node's `util.inspect` and `util.format`.
const { stringify, join, push, isArray, ownKeys, getPrototypeOf, getOwnPropertyDescriptor, String, Number } = internal.primordials;

const MAX_DEPTH = 2;
const MAX_ITEMS = 100;
const LINE_WIDTH = 72;
const CUSTOM = Symbol.for('nodejs.util.inspect.custom');

const quote = (value) => {
  if (!value.includes("'")) return `'${value.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}'`;
  return stringify(value);
};

const constructorName = (value) => {
  for (let proto = value; proto !== null; proto = getPrototypeOf(proto)) {
    const own = getOwnPropertyDescriptor(proto, 'constructor');
    if (own && typeof own.value === 'function' && own.value.name) return own.value.name;
  }
  return null;
};

const primitive = (value) => {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'symbol') return value.toString();
  return Object.is(value, -0) ? '-0' : String(value);
};

const key = (name) => (typeof name === 'symbol' ? `[${name.toString()}]` : /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name));

const wrap = (prefix, open, items, close, indent) => {
  const head = prefix === '' ? open : `${prefix} ${open}`;
  if (items.length === 0) return `${head}${close}`;
  const width = items.reduce((sum, item) => sum + item.length + 2, head.length + indent);
  if (width <= LINE_WIDTH && !items.some((item) => item.includes('\n'))) return `${head} ${join(items, ', ')} ${close}`;
  const pad = ' '.repeat(indent + 2);
  return `${head}\n${pad}${join(items, `,\n${pad}`)}\n${' '.repeat(indent)}${close}`;
};

const more = (items, total) => {
  if (total > MAX_ITEMS) push(items, `... ${total - MAX_ITEMS} more item${total - MAX_ITEMS > 1 ? 's' : ''}`);
  return items;
};

const properties = (value, names, state, indent) =>
  names.map((name) => {
    const own = getOwnPropertyDescriptor(value, name);
    if (own && own.get) return `${key(name)}: [${own.set ? 'Getter/Setter' : 'Getter'}]`;
    return `${key(name)}: ${show(own ? own.value : value[name], state, indent + 2)}`;
  });

const visibleKeys = (value) =>
  ownKeys(value).filter((name) => getOwnPropertyDescriptor(value, name)?.enumerable);

const showArray = (value, state, indent) => {
  const items = [];
  for (let i = 0; i < value.length && i < MAX_ITEMS; i++) push(items, i in value ? show(value[i], state, indent + 2) : '<empty>');
  const extra = isArray(value) ? visibleKeys(value).filter((name) => typeof name === 'symbol' || !/^\d+$/.test(name)) : [];
  const name = constructorName(value);
  const prefix = name === 'Array' ? '' : `${name ?? 'Array'}(${value.length})`;
  return wrap(prefix, '[', more(items, value.length).concat(properties(value, extra, state, indent)), ']', indent);
};

// Own, but not enumerable where `new Error` made them.
const HIDDEN_OF_ERRORS = ['cause', 'errors'];
const showError = (value, state, indent) => {
  const stack = internal.ownStack(value).replaceAll('\n', `\n${' '.repeat(indent)}`);
  const visible = visibleKeys(value).filter((name) => name !== 'stack' && name !== 'message');
  const items = properties(value, visible, state, indent);
  for (const name of HIDDEN_OF_ERRORS) {
    const own = getOwnPropertyDescriptor(value, name);
    if (own && !own.enumerable) push(items, `[${name}]: ${show(own.value, state, indent + 2)}`);
  }
  return items.length === 0 ? stack : wrap(stack, '{', items, '}', indent);
};

const collection = (value, state, indent) => {
  if (value instanceof Map) {
    const items = [...value].slice(0, MAX_ITEMS).map(([k, v]) => `${show(k, state, indent + 2)} => ${show(v, state, indent + 2)}`);
    return wrap(`Map(${value.size})`, '{', more(items, value.size), '}', indent);
  }
  if (value instanceof Set) {
    const items = [...value].slice(0, MAX_ITEMS).map((item) => show(item, state, indent + 2));
    return wrap(`Set(${value.size})`, '{', more(items, value.size), '}', indent);
  }
  return undefined;
};

const showFunction = (value) => {
  const kind = /^class\b/.test(internal.primordials.functionToString(value)) ? 'class' : constructorName(value) ?? 'Function';
  return value.name ? `[${kind}${kind === 'class' ? '' : ':'} ${value.name}]` : `[${kind} (anonymous)]`;
};

const showPlain = (value, state, indent) => {
  const name = constructorName(value);
  const tag = value[Symbol.toStringTag];
  const prefix = name === null ? '[Object: null prototype]' : name === 'Object' ? '' : name;
  const tagged = typeof tag === 'string' && tag !== '' && tag !== name ? `${prefix === '' ? 'Object' : prefix} [${tag}]` : prefix;
  return wrap(tagged, '{', properties(value, visibleKeys(value), state, indent), '}', indent);
};

const showObject = (value, state, indent) => {
  if (value instanceof Error) return showError(value, state, indent);
  if (value instanceof Date) return Number.isNaN(+value) ? 'Invalid Date' : value.toISOString();
  if (value instanceof RegExp) return value.toString();
  if (typeof value === 'function') return showFunction(value);
  if (isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return showArray(value, state, indent);
  if (value instanceof Promise) return 'Promise {}';
  return collection(value, state, indent) ?? showPlain(value, state, indent);
};

const show = (value, state, indent) => {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return primitive(value);
  if (state.path.includes(value)) return '[Circular *1]';
  const custom = value[CUSTOM];
  if (typeof custom === 'function' && state.custom) {
    const shown = custom.call(value, state.depth - state.path.length, state.options, internal.inspect);
    return typeof shown === 'string' ? shown : show(shown, state, indent);
  }
  if (state.path.length > state.depth && typeof value === 'object') {
    return isArray(value) ? '[Array]' : `[${constructorName(value) ?? 'Object: null prototype'}]`;
  }
  push(state.path, value);
  try {
    return showObject(value, state, indent);
  } finally {
    state.path.length -= 1;
  }
};

internal.inspect = (value, options = {}) => {
  const depth = options === null || options.depth === undefined ? MAX_DEPTH : options.depth === null ? Infinity : options.depth;
  return show(value, { path: [], depth, options: options ?? {}, custom: options?.customInspect !== false }, 0);
};
internal.inspect.custom = CUSTOM;
internal.inspect.defaultOptions = { depth: MAX_DEPTH };

const directive = (letter, value) => {
  switch (letter) {
    case 's': return typeof value === 'string' ? value : typeof value === 'object' && value !== null ? internal.inspect(value, { depth: 0 }) : primitive(value);
    case 'd': return typeof value === 'object' ? 'NaN' : typeof value === 'bigint' ? `${value}n` : String(Number(value));
    case 'i': return typeof value === 'object' ? 'NaN' : String(Number.parseInt(value));
    case 'f': return String(Number.parseFloat(value));
    case 'j': return stringify(value) ?? 'undefined';
    case 'o': return internal.inspect(value, { depth: 4 });
    case 'O': return internal.inspect(value);
    default: return '';
  }
};

internal.format = (...values) => {
  let next = 0;
  let out = '';
  if (typeof values[0] === 'string') {
    next = 1;
    out = values.length === 1 ? values[0] : values[0].replace(/%([sdifjoOc%])/g, (whole, letter) => {
      if (letter === '%') return '%';
      return next < values.length ? directive(letter, values[next++]) : whole;
    });
  }
  for (; next < values.length; next++) {
    const value = values[next];
    out += `${next === 0 ? '' : ' '}${typeof value === 'string' ? value : internal.inspect(value)}`;
  }
  return out;
};
