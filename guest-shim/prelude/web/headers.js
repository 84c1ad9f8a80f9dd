'use strict';
// Headers.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const normalName = (name, method) => {
  const given = String(name);
  if (!TOKEN.test(given)) throw new TypeError(`Headers.${method}: ${given} is an invalid header name.`);
  return given.toLowerCase();
};

const normalValue = (value, method) => {
  const given = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\n\r]/.test(given)) throw new TypeError(`Headers.${method}: ${given} is an invalid header value.`);
  for (let at = 0; at < given.length; at++) {
    if (given.charCodeAt(at) > 255) {
      throw new TypeError(`Cannot convert argument to a ByteString because the character at index ${at} has a value of ${given.charCodeAt(at)} which is greater than 255.`);
    }
  }
  return given;
};

class Headers {
  // name -> value, or values for set-cookie
  #values = new Map();
  #isImmutable = false;

  constructor(init = undefined) {
    if (init === undefined) return;
    if (typeof init !== 'object' || init === null) {
      throw new TypeError("Headers constructor: init given must be one of ByteString, ByteString record or sequence of sequences.");
    }
    const iterate = init[Symbol.iterator];
    if (iterate !== undefined && iterate !== null) this.#appendPairs(init);
    else for (const key of Reflect.ownKeys(init)) if (Object.getOwnPropertyDescriptor(init, key)?.enumerable) this.append(key, init[key]);
  }

  #appendPairs(pairs) {
    for (const pair of pairs) {
      const items = typeof pair === 'object' && pair !== null ? [...pair] : [];
      if (items.length !== 2) throw new TypeError('Headers constructor: expected name/value pair to be length 2, found ' + items.length + '.');
      this.append(items[0], items[1]);
    }
  }

  static freeze(headers) { headers.#isImmutable = true; }
  static list(headers) { return [...headers.#values].flatMap(([name, value]) => (name === 'set-cookie' ? value.map((cookie) => [name, cookie]) : [[name, value]])); }

  #change(method, count, needed) {
    if (count < needed) throw new TypeError(`Headers.${method}: ${needed} argument${needed > 1 ? 's' : ''} required, but ${count ? `only ${count}` : 'none'} present.`);
    if (this.#isImmutable && method !== 'get' && method !== 'has') throw new TypeError('immutable');
  }

  append(name, value) {
    this.#change('append', arguments.length, 2);
    const key = normalName(name, 'append');
    const added = normalValue(value, 'append');
    const known = this.#values.get(key);
    if (key === 'set-cookie') this.#values.set(key, [...(known ?? []), added]);
    else this.#values.set(key, known === undefined ? added : `${known}${key === 'cookie' ? '; ' : ', '}${added}`);
  }

  delete(name) {
    this.#change('delete', arguments.length, 1);
    this.#values.delete(normalName(name, 'delete'));
  }

  get(name) {
    this.#change('get', arguments.length, 1);
    const found = this.#values.get(normalName(name, 'get'));
    if (found === undefined) return null;
    return typeof found === 'string' ? found : found.join(', ');
  }

  getSetCookie() { return [...(this.#values.get('set-cookie') ?? [])]; }

  has(name) {
    this.#change('has', arguments.length, 1);
    return this.#values.has(normalName(name, 'has'));
  }

  set(name, value) {
    this.#change('set', arguments.length, 2);
    const key = normalName(name, 'set');
    const given = normalValue(value, 'set');
    this.#values.set(key, key === 'set-cookie' ? [given] : given);
  }

  forEach(callback, self = undefined) {
    if (typeof callback !== 'function') throw new TypeError("Failed to execute 'forEach' on 'Headers': parameter 1 is not of type 'Function'.");
    for (const [name, value] of this) callback.call(self, value, name, this);
  }

  * entries() { yield* listOf(this).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); }
  * keys() { for (const [name] of this.entries()) yield name; }
  * values() { for (const [, value] of this.entries()) yield value; }

  get [Symbol.toStringTag]() { return 'Headers'; }
  [internal.inspect.custom](depth, options, inspect) { return `Headers ${inspect(Object.fromEntries(this), options)}`; }
}
Object.defineProperty(Headers.prototype, Symbol.iterator, { value: Headers.prototype.entries, writable: true, configurable: true });
const { freeze, list: listOf } = Headers;
delete Headers.freeze;
delete Headers.list;
internal.makeEnumerable(Headers.prototype);

return { Headers, freezeHeaders: freeze, listOf };
