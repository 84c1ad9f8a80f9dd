'use strict';
// FormData.
const { Blob, File, bytesOfBlob } = internal.lazy('web/blob');
const { text } = internal;

const entryValue = (value, filename) => {
  if (!(value instanceof Blob)) return text(value);
  if (filename === undefined && value instanceof File) return value;
  const name = filename === undefined ? 'blob' : text(filename);
  return new File([bytesOfBlob(value)], name, { type: value.type, lastModified: value.lastModified });
};

const check = (method, count, needed, value, filename) => {
  if (count < needed) throw new TypeError(`FormData.${method}: ${needed} argument${needed > 1 ? 's' : ''} required, but ${count ? `only ${count}` : 'none'} present.`);
  if (filename !== undefined && !(value instanceof Blob)) throw new TypeError(`FormData.${method}: parameter 2 is not of type 'Blob'.`);
};

class FormData {
  #entries = [];

  constructor(form) {
    if (form !== undefined) throw new TypeError('FormData constructor: Argument 1 could not be converted to: undefined.');
  }

  append(name, value, filename) {
    check('append', arguments.length, 2, value, filename);
    this.#entries.push([text(name), entryValue(value, filename)]);
  }

  set(name, value, filename) {
    check('set', arguments.length, 2, value, filename);
    const key = text(name);
    const entry = [key, entryValue(value, filename)];
    const at = this.#entries.findIndex(([found]) => found === key);
    if (at < 0) this.#entries.push(entry);
    else this.#entries = this.#entries.flatMap((found, index) => (index === at ? [entry] : found[0] === key ? [] : [found]));
  }

  delete(name) {
    check('delete', arguments.length, 1);
    const key = text(name);
    this.#entries = this.#entries.filter(([found]) => found !== key);
  }

  get(name) {
    check('get', arguments.length, 1);
    const key = text(name);
    return this.#entries.find(([found]) => found === key)?.[1] ?? null;
  }

  getAll(name) {
    check('getAll', arguments.length, 1);
    const key = text(name);
    return this.#entries.filter(([found]) => found === key).map(([, value]) => value);
  }

  has(name) {
    check('has', arguments.length, 1);
    const key = text(name);
    return this.#entries.some(([found]) => found === key);
  }

  forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
  * entries() { for (let at = 0; at < this.#entries.length; at++) yield [...this.#entries[at]]; }
  * keys() { for (const [name] of this.entries()) yield name; }
  * values() { for (const [, value] of this.entries()) yield value; }
  get [Symbol.toStringTag]() { return 'FormData'; }
}
Object.defineProperty(FormData.prototype, Symbol.iterator, { value: FormData.prototype.entries, writable: true, configurable: true });
internal.makeEnumerable(FormData.prototype);

return { FormData };
