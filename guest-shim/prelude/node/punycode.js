'use strict';
// `punycode`, after RFC 3492.
const BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, INITIAL_BIAS = 72, INITIAL_N = 128;
const invalid = () => new RangeError('Invalid input');

const adapt = (delta, count, isFirst) => {
  let rest = isFirst ? Math.floor(delta / DAMP) : delta >> 1;
  rest += Math.floor(rest / count);
  let k = 0;
  for (; rest > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) rest = Math.floor(rest / (BASE - T_MIN));
  return Math.floor(k + ((BASE - T_MIN + 1) * rest) / (rest + SKEW));
};
const threshold = (k, bias) => Math.min(T_MAX, Math.max(T_MIN, k - bias));
const digitOf = (code) => (code >= 48 && code < 58 ? code - 22 : code >= 65 && code < 91 ? code - 65 : code >= 97 && code < 123 ? code - 97 : BASE);
const letterOf = (digit) => String.fromCharCode(digit + (digit < 26 ? 97 : 22));

const ucs2 = { decode: (text) => Array.from(text, (character) => character.codePointAt(0)), encode: (codes) => String.fromCodePoint(...codes) };

const decode = (input) => {
  const basic = Math.max(input.lastIndexOf('-'), 0);
  const output = ucs2.decode(input.slice(0, basic));
  if (output.some((code) => code >= 128)) throw invalid();
  let [n, i, bias] = [INITIAL_N, 0, INITIAL_BIAS];
  for (let at = basic > 0 ? basic + 1 : 0; at < input.length;) {
    const before = i;
    for (let weight = 1, k = BASE; ; k += BASE) {
      const digit = at < input.length ? digitOf(input.charCodeAt(at++)) : BASE;
      if (digit >= BASE) throw invalid();
      i += digit * weight;
      const t = threshold(k, bias);
      if (digit < t) break;
      weight *= BASE - t;
    }
    const count = output.length + 1;
    bias = adapt(i - before, count, before === 0);
    n += Math.floor(i / count);
    i %= count;
    output.splice(i++, 0, n);
  }
  return String.fromCodePoint(...output);
};

const encodeDelta = (delta, bias) => {
  let out = '';
  let rest = delta;
  for (let k = BASE; ; k += BASE) {
    const t = threshold(k, bias);
    if (rest < t) return out + letterOf(rest);
    out += letterOf(t + ((rest - t) % (BASE - t)));
    rest = Math.floor((rest - t) / (BASE - t));
  }
};

const encode = (input) => {
  const codes = ucs2.decode(input);
  let output = codes.filter((code) => code < 128).map((code) => String.fromCharCode(code)).join('');
  const basic = output.length;
  let handled = basic;
  if (basic > 0) output += '-';
  let [n, delta, bias] = [INITIAL_N, 0, INITIAL_BIAS];
  while (handled < codes.length) {
    const next = Math.min(...codes.filter((code) => code >= n));
    delta += (next - n) * (handled + 1);
    n = next;
    for (const code of codes) {
      if (code < n) delta += 1;
      if (code !== n) continue;
      output += encodeDelta(delta, bias);
      bias = adapt(delta, handled + 1, handled === basic);
      delta = 0;
      handled += 1;
    }
    delta += 1;
    n += 1;
  }
  return output;
};

const mapLabels = (domain, change) => {
  const at = domain.lastIndexOf('@');
  const labels = domain.slice(at + 1).replace(/[\u3002\uff0e\uff61]/g, '.').split('.');
  return domain.slice(0, at + 1) + labels.map(change).join('.');
};

return {
  version: '2.1.0',
  ucs2,
  decode,
  encode,
  toASCII: (domain) => mapLabels(domain, (label) => (/[^\0-\x7f]/.test(label) ? `xn--${encode(label)}` : label)),
  toUnicode: (domain) => mapLabels(domain, (label) => (label.startsWith('xn--') ? decode(label.slice(4).toLowerCase()) : label)),
};
