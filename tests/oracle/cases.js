'use strict';
// The oracle: the same snippets in Node and in a sandbox must print the same.
//
// `run()` returns [label, result] pairs, in the same order everywhere. Inputs come from one seed, so that every run and
// every machine compares the same thousands of cases. Nothing here may depend on time, randomness or the network.

let state = 20240229;
const random = (below) => {
  // A linear congruence; its high bits are good enough to choose inputs.
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const pick = (list) => list[random(list.length)];
const some = (list, most) => Array.from({ length: random(most + 1) }, () => pick(list));
const bytes = (length) => Uint8Array.from({ length }, () => random(256));
const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, '0')).join('');

const results = [];
const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value, (key, item) => (typeof item === 'bigint' ? `${item}n` : item)) ?? String(value));

// A thrown error is a result, too: its name, and its code where Node gives one.
const check = (label, work) => {
  let result;
  try {
    result = show(work());
  } catch (error) {
    result = `throws ${error.name}${error.code === undefined ? '' : ` ${error.code}`}`;
  }
  results.push([label, result]);
};

const checkLater = async (label, work) => {
  let result;
  try {
    result = show(await work());
  } catch (error) {
    result = `rejects ${error.name}`;
  }
  results.push([label, result]);
};

const tools = { random, pick, some, bytes, hex, check, checkLater };
const THEMES = ['url', 'text', 'headers', 'clone', 'buffer', 'crypto', 'subtle', 'intl-date', 'intl-number', 'intl-text', 'body', 'async-context', 'crypto-keys', 'subtle-keys', 'segmenter', 'zlib', 'intl-locales'];

exports.run = async (only) => {
  state = 20240229;
  results.length = 0;
  for (const theme of THEMES) if (only === undefined || only === theme) await load(theme)(tools);
  return results.slice();
};

// Written out, because what a sandbox can load is found by reading the requires.
const load = (theme) => ({
  url: () => require('./themes/url.js'),
  text: () => require('./themes/text.js'),
  headers: () => require('./themes/headers.js'),
  clone: () => require('./themes/clone.js'),
  buffer: () => require('./themes/buffer.js'),
  crypto: () => require('./themes/crypto.js'),
  subtle: () => require('./themes/subtle.js'),
  'intl-date': () => require('./themes/intl-date.js'),
  'intl-number': () => require('./themes/intl-number.js'),
  'intl-text': () => require('./themes/intl-text.js'),
  body: () => require('./themes/body.js'),
  'async-context': () => require('./themes/async-context.js'),
  'crypto-keys': () => require('./themes/crypto-keys.js'),
  'subtle-keys': () => require('./themes/subtle-keys.js'),
  segmenter: () => require('./themes/segmenter.js'),
  zlib: () => require('./themes/zlib.js'),
  'intl-locales': () => require('./themes/intl-locales.js'),
}[theme]());
