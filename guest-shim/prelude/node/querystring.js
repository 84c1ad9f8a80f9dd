'use strict';
// `querystring`.
const UNESCAPED = /[^A-Za-z0-9\-_.!~*'()]/;

const escape = (value) => {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? String(value) : `${value}`;
  return UNESCAPED.test(text) ? encodeURIComponent(text) : text;
};

// A percent sign that begins nothing stays as it is.
const unescapeBuffer = (text) => internal.Buffer.from(text.replace(/%([0-9a-f]{2})/gi, (whole, hex) => String.fromCharCode(parseInt(hex, 16))), 'latin1');
const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescapeBuffer(text).toString();
  }
};

const primitive = (value) => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : '';
  return typeof value === 'bigint' || typeof value === 'boolean' ? `${value}` : '';
};

const querystring = {
  escape,
  unescape,
  unescapeBuffer,
  stringify(object, separator = '&', equals = '=', options) {
    if (object === null || typeof object !== 'object') return '';
    const encode = options?.encodeURIComponent ?? querystring.escape;
    return Object.keys(object).flatMap((key) => {
      const name = `${encode(primitive(key))}${equals}`;
      return Array.isArray(object[key]) ? object[key].map((item) => name + encode(primitive(item))) : [name + encode(primitive(object[key]))];
    }).join(separator);
  },
  parse(text, separator = '&', equals = '=', options) {
    const parsed = Object.create(null);
    if (typeof text !== 'string' || text === '') return parsed;
    const decode = options?.decodeURIComponent ?? querystring.unescape;
    const limit = options?.maxKeys ?? 1000;
    const decoded = (part) => {
      const spaced = part.replace(/\+/g, ' ');
      try {
        return decode(spaced);
      } catch {
        return unescape(spaced);
      }
    };
    const pairs = text.split(separator).filter((pair) => pair !== '');
    for (const pair of limit > 0 ? pairs.slice(0, limit) : pairs) {
      const at = pair.indexOf(equals);
      const name = decoded(at < 0 ? pair : pair.slice(0, at));
      const value = at < 0 ? '' : decoded(pair.slice(at + equals.length));
      if (!(name in parsed)) parsed[name] = value;
      else if (Array.isArray(parsed[name])) parsed[name].push(value);
      else parsed[name] = [parsed[name], value];
    }
    return parsed;
  },
};
querystring.encode = querystring.stringify;
querystring.decode = querystring.parse;
return querystring;
