'use strict';
// Gives a component its data stores: what `this` has under its props of the type `data_store`. The host puts this around
// the component's own code and adds NAMES, the names of those props, and what keys and entries may have; `domain/data_stores.rs`
// reads the keys written here.
//
// Values are read and written with the host function of `db`, so that they are part of the run's transaction: what was read
// still holds when the run is committed, and nothing is written unless it is.
const loaded = require('component');
const component = loaded && loaded.__esModule && loaded.default !== undefined ? loaded.default : loaded;
const HIDDEN = '$data_stores';
const TTL_MAXIMUM = 366 * 24 * 60 * 60;

// A character has three bytes at most, so that short texts need not be measured.
const check = (what, text, limit) => {
  if (text.length * 3 <= limit) return;
  const size = Buffer.byteLength(text);
  if (size > limit) throw new RangeError(`the ${what} of a data store has at most ${limit} bytes, this one has ${size}`);
};

const textOf = (key) => {
  if (typeof key !== 'string' && typeof key !== 'number') throw new TypeError('the key of a data store is a text');
  check('key', String(key), KEY_BYTES);
  return String(key);
};

const expiry = (ttl) => {
  if (ttl === undefined || ttl === null) return undefined;
  if (typeof ttl !== 'number' || !(ttl > 0) || ttl > TTL_MAXIMUM) {
    throw new TypeError(`ttl is a number of seconds above 0, at most ${TTL_MAXIMUM}`);
  }
  return Math.ceil(Date.now() + ttl * 1000);
};

const dataStore = (db, given) => {
  let id;
  // By key, whether the run set or deleted it: `keys` of the host has what is committed.
  const written = new Map();

  const open = () => {
    if (id !== undefined) return id;
    if (typeof given !== 'string' || given === '') throw new Error('no data store is configured: give the prop the id or the name of one');
    id = db.get(`\u0000store/${given}`);
    if (id === undefined) throw new Error(`there is no data store ${given}: make one with \`wellspring data-stores create ${given}\``);
    return id;
  };
  const place = (key) => `\u0000data/${open()}/${key}`;
  const read = (key) => {
    const entry = db.get(place(key));
    return entry === undefined || (entry.e !== undefined && entry.e <= Date.now()) ? undefined : entry;
  };
  const write = (key, value, ttl) => {
    const text = value === undefined ? undefined : JSON.stringify(value);
    if (text === undefined) throw new TypeError('the value of a data store is one that JSON can hold');
    const e = expiry(ttl);
    // The time is stored with the value.
    check('value', text, VALUE_BYTES - JSON.stringify({ e, v: 0 }).length + 1);
    db.set(place(key), { e, v: value });
    written.set(key, true);
  };
  const remove = (key) => {
    db.set(place(key), undefined);
    written.set(key, false);
  };
  const list = () => {
    const found = new Set();
    for (let after = ''; after !== null;) {
      const page = db.get(`\u0000keys/${open()}/${after}`);
      for (const key of page.keys) if (!written.has(key)) found.add(key);
      after = page.after;
    }
    // The host leaves out what it has that is over; of what the run set itself only the run knows.
    for (const [key, isSet] of written) if (isSet && read(key) !== undefined) found.add(key);
    return [...found].sort();
  };
  const pairs = () => list().map((key) => [key, read(key)?.v]).filter(([, value]) => value !== undefined);

  return {
    get: async (key) => read(textOf(key))?.v,
    set: async (key, value, options) => write(textOf(key), value, options?.ttl),
    has: async (key) => read(textOf(key)) !== undefined,
    delete: async (key) => remove(textOf(key)),
    // Another time to live for a value that is there; null for one without an end.
    setTtl: async (key, ttl) => {
      const entry = read(textOf(key));
      if (entry !== undefined) write(textOf(key), entry.v, ttl);
      return entry !== undefined;
    },
    keys: async () => list(),
    entries: async () => pairs(),
    clear: async () => list().forEach(remove),
    async *[Symbol.asyncIterator]() {
      yield* pairs();
    },
  };
};

const opened = (self) => {
  const db = self[HIDDEN];
  if (db === undefined) return;
  delete self[HIDDEN];
  for (const name of NAMES) self[name] = dataStore(db, self[name]);
};

const withStores = (method) => (typeof method !== 'function' ? method : function (...given) {
  opened(this);
  return method.apply(this, given);
});

const mapped = (object, change) => object && Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));

const withOptions = (prop) => (typeof prop?.options === 'function' && prop.propDefinition === undefined
  ? { ...prop, options: withStores(prop.options) }
  : prop);

module.exports = {
  ...component,
  props: { ...mapped(component.props, withOptions), [HIDDEN]: '$.service.db' },
};
for (const name of ['run', 'hooks']) {
  if (component[name] === undefined) continue;
  module.exports[name] = name === 'run' ? withStores(component.run) : mapped(component.hooks, withStores);
}
