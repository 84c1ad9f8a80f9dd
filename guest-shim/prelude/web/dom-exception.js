'use strict';
// DOMException.
const CODES = {
  IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5, NoModificationAllowedError: 7,
  NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10, InvalidStateError: 11, SyntaxError: 12,
  InvalidModificationError: 13, NamespaceError: 14, InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18,
  NetworkError: 19, AbortError: 20, URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24,
  DataCloneError: 25,
};

class DOMException extends Error {
  #name;

  constructor(message = '', options = 'Error') {
    super(message);
    const isObject = typeof options === 'object' && options !== null;
    this.#name = String(isObject ? options.name ?? 'Error' : options);
    if (isObject && 'cause' in options) Object.defineProperty(this, 'cause', { value: options.cause, writable: true, configurable: true });
    internal.setFrames(this, this);
  }

  get name() { return this.#name; }
  get code() { return CODES[this.#name] ?? 0; }
  get [Symbol.toStringTag]() { return 'DOMException'; }
}

for (const [name, code] of Object.entries(CODES)) {
  const constant = name.replace(/Error$/, '').replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase().replace('URLMISMATCH', 'URL_MISMATCH');
  const property = { value: code, enumerable: true };
  Object.defineProperty(DOMException, `${constant}_ERR`, property);
  Object.defineProperty(DOMException.prototype, `${constant}_ERR`, property);
}

return { DOMException };
