'use strict';
// TextEncoder, TextDecoder, atob and btoa.
const { DOMException } = internal.lazy('web/dom-exception');
const { bytesOf } = internal.lazy('web/bytes');

const EMPTY = new Uint8Array(0);

class TextEncoder {
  get encoding() { return 'utf-8'; }

  encode(input = '') { return host.encodeUtf8(String(input)); }

  encodeInto(source, destination) {
    if (!(destination instanceof Uint8Array)) {
      throw internal.codedError('ERR_INVALID_ARG_TYPE', 'The "dest" argument must be an instance of Uint8Array.', TypeError);
    }
    const text = String(source);
    let read = 0;
    let written = 0;
    for (const character of text) {
      const bytes = host.encodeUtf8(character);
      if (written + bytes.length > destination.length) break;
      destination.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }

  get [Symbol.toStringTag]() { return 'TextEncoder'; }
}

class TextDecoder {
  #label;
  #encoding;
  #isFatal;
  #ignoresBom;
  #decoder;

  constructor(label = 'utf-8', options = {}) {
    const text = String(label);
    const name = host.encodingName(internal.text(text));
    if (name === undefined || name === null) throw internal.codedError('ERR_ENCODING_NOT_SUPPORTED', `The "${text}" encoding is not supported`, RangeError);
    this.#label = name;
    this.#encoding = name;
    this.#isFatal = Boolean(options?.fatal);
    this.#ignoresBom = Boolean(options?.ignoreBOM);
  }

  get encoding() { return this.#encoding; }
  get fatal() { return this.#isFatal; }
  get ignoreBOM() { return this.#ignoresBom; }

  decode(input, options) {
    const bytes = input === undefined ? EMPTY : bytesOf(input, 'The "input" argument must be an instance of ArrayBuffer or ArrayBufferView.');
    const isStreaming = Boolean(options?.stream);
    try {
      if (!isStreaming && this.#decoder === undefined) return host.decodeText(this.#label, bytes, this.#isFatal, this.#ignoresBom);
      this.#decoder ??= host.textDecoder(this.#label, this.#ignoresBom);
      const text = this.#decoder(bytes, !isStreaming, this.#isFatal);
      if (!isStreaming) this.#decoder = undefined;
      return text;
    } catch (error) {
      this.#decoder = undefined;
      if (error?.code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
      throw internal.codedError(error.code, `The encoded data was not valid for encoding ${this.#encoding}`, TypeError);
    }
  }

  get [Symbol.toStringTag]() { return 'TextDecoder'; }
}

const atob = (data) => {
  if (data === undefined) throw internal.codedError('ERR_MISSING_ARGS', 'The "data" argument must be specified', TypeError);
  let text = String(data).replace(/[\t\n\f\r ]/g, '');
  if (text.length % 4 === 0) text = text.replace(/==?$/, '');
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) {
    throw new DOMException('The string to be decoded is not correctly encoded.', 'InvalidCharacterError');
  }
  return host.decodeLatin1(host.decodeBase64(text));
};

const btoa = (data) => {
  if (data === undefined) throw internal.codedError('ERR_MISSING_ARGS', 'The "data" argument must be specified', TypeError);
  const text = String(data);
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) > 255) throw new DOMException('Invalid character', 'InvalidCharacterError');
  }
  return host.encodeBase64(host.encodeLatin1(text), false);
};

return { TextEncoder, TextDecoder, atob, btoa };
