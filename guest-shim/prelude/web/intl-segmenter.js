'use strict';
// Intl.Segmenter: what a reader takes for one character, for a word, for a sentence. The rules are those of UAX #29 as far as
// regular expressions can say them; words of scripts without spaces stay whole.
const { resolve, supportedLocalesOf, choose } = internal.lazy('web/intl-locale');

const EXTENDS = '[\\p{M}\\p{Emoji_Modifier}\\u200c\\ufe0e\\ufe0f]';
const PICTURE = `\\p{Extended_Pictographic}${EXTENDS}*`;
const GRAPHEME = [
  '\\r\\n',
  `\\p{RI}\\p{RI}${EXTENDS}*`,
  `${PICTURE}(?:\\u200d${PICTURE})*\\u200d?`,
  // A syllable of Hangul may be written in two or three letters.
  `[\\u1100-\\u115f]+[\\u1160-\\u11a7]*[\\u11a8-\\u11ff]*${EXTENDS}*`,
  `[^\\p{Cc}](?:${EXTENDS}|\\u200d)*`,
  '[\\s\\S]',
].join('|');
// Scripts without spaces, and Hangul, are words of their own beside letters of others.
const APART = '\\p{Script=Hangul}\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}';
const LETTER = `(?:(?![${APART}])[\\p{L}\\p{M}\\p{N}_])`;
const WORD = [`[${APART}]\\p{M}*(?:[${APART}]\\p{M}*)*`, `${LETTER}+(?:['’.·:,](?=${LETTER})${LETTER}+)*`, '\\r\\n', '[ \\u3000\\u2000-\\u200a]+', GRAPHEME].join('|');
const END = '["\'’”)\\]]*[^\\S\\r\\n\\u2029]*';
const SENTENCE = `(?:${[
  '[^.!?…\\r\\n\\u2029]',
  '\\.(?=[\\p{L}\\p{N}])',
  // What goes on in small letters goes on, and so does what goes on with a comma.
  `\\.${END}(?=[^\\p{L}.!?…\\r\\n\\u2029]*\\p{Ll})`,
  `[.!?…]${END}(?=[,;:\\-–—.!?…])`,
].join('|')})*(?:[.!?…]+${END}(?:\\r\\n|[\\r\\n\\u2029])?|\\r\\n|[\\r\\n\\u2029]|$)`;
const PATTERNS = { grapheme: GRAPHEME, word: WORD, sentence: SENTENCE };
const IS_WORD = /[\p{L}\p{N}]/u;

class Segments {
  #text;
  #granularity;
  constructor(text, granularity) {
    this.#text = text;
    this.#granularity = granularity;
  }
  *[Symbol.iterator]() {
    for (const { 0: segment, index } of this.#text.matchAll(new RegExp(PATTERNS[this.#granularity], 'gu'))) {
      if (segment === '') return;
      const found = { segment, index, input: this.#text };
      if (this.#granularity === 'word') found.isWordLike = IS_WORD.test(segment);
      yield found;
    }
  }
  containing(index = 0) {
    const at = Math.trunc(Number(index)) || 0;
    if (at < 0 || at >= this.#text.length) return undefined;
    for (const found of this) if (at < found.index + found.segment.length) return found;
    return undefined;
  }
}

class Segmenter {
  #locale;
  #granularity;
  constructor(locales, options = undefined) {
    this.#locale = resolve(locales);
    this.#granularity = choose(options === undefined ? {} : Object(options), 'granularity', Object.keys(PATTERNS), 'grapheme');
  }
  static supportedLocalesOf(locales) { return supportedLocalesOf(locales); }
  segment(text) { return new Segments(String(text), this.#granularity); }
  resolvedOptions() { return { locale: this.#locale, granularity: this.#granularity }; }
  get [Symbol.toStringTag]() { return 'Intl.Segmenter'; }
}

return { Segmenter };
