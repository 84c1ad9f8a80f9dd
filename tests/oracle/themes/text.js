'use strict';
// TextEncoder, TextDecoder, atob and btoa.
const LABELS = ['utf-8', 'UTF8', ' utf-8 ', 'unicode-1-1-utf-8', 'utf-16', 'utf-16le', 'utf-16be', 'latin1', 'ascii', 'iso-8859-2', 'windows-1251', 'koi8-r', 'shift_jis', 'euc-jp', 'gbk', 'gb18030', 'big5', 'euc-kr', 'iso-8859-15', 'macintosh', 'nope', '', 'utf-7', 'replacement'];
const CHARACTERS = ['a', 'ä', '€', '\u{1F600}', '\u0000', '\uFEFF', '\n', '\ud800', '\udc00', 'z', '日'];

module.exports = ({ random, pick, some, bytes, hex, check }) => {
  for (const label of LABELS) {
    check(`decoder ${JSON.stringify(label)}`, () => {
      const decoder = new TextDecoder(label);
      return [decoder.encoding, decoder.fatal, decoder.ignoreBOM];
    });
  }
  for (let at = 0; at < 400; at++) {
    const data = pick([bytes(random(12)), Uint8Array.from([0xef, 0xbb, 0xbf, ...bytes(random(4))]), new TextEncoder().encode(some(CHARACTERS, 6).join(''))]);
    const options = { fatal: random(2) === 1, ignoreBOM: random(2) === 1 };
    check(`decode ${hex(data)} ${JSON.stringify(options)}`, () => new TextDecoder('utf-8', options).decode(data));
  }
  for (let at = 0; at < 300; at++) {
    const data = pick([bytes(2 + random(10)), new TextEncoder().encode(some(CHARACTERS, 6).join(''))]);
    const label = pick(['utf-8', 'utf-8', 'utf-16le']);
    const cuts = [random(data.length + 1), random(data.length + 1)].sort((a, b) => a - b);
    check(`decode ${label} in pieces ${hex(data)} ${cuts}`, () => {
      const decoder = new TextDecoder(label);
      const pieces = [data.subarray(0, cuts[0]), data.subarray(cuts[0], cuts[1]), data.subarray(cuts[1])];
      return [...pieces.map((piece) => decoder.decode(piece, { stream: true })), decoder.decode(), decoder.decode(data)];
    });
  }
  for (const label of ['latin1', 'windows-1251', 'utf-16le', 'utf-16be', 'iso-8859-2', 'koi8-r']) {
    for (let at = 0; at < 40; at++) {
      const data = bytes(2 * random(6));
      check(`decode ${label} ${hex(data)}`, () => new TextDecoder(label).decode(data));
    }
  }
  for (const [label, data] of [['shift_jis', [0x93, 0xfa, 0x96, 0x7b]], ['euc-jp', [0xc6, 0xfc]], ['gbk', [0xd6, 0xd0]], ['big5', [0xa4, 0xa4]], ['euc-kr', [0xc7, 0xd1]]]) {
    check(`decode ${label}`, () => new TextDecoder(label).decode(Uint8Array.from(data)));
  }
  for (let at = 0; at < 150; at++) {
    const text = some(CHARACTERS, 8).join('');
    check(`encode ${JSON.stringify(text)}`, () => hex(new TextEncoder().encode(text)));
    const room = random(10);
    check(`encodeInto ${JSON.stringify(text)} ${room}`, () => {
      const into = new Uint8Array(room);
      return [new TextEncoder().encodeInto(text, into), hex(into)];
    });
  }
  check('decode of a string', () => new TextDecoder().decode('x'));
  check('decode of a view', () => new TextDecoder().decode(new DataView(Uint8Array.from([97, 98, 99]).buffer, 1)));
  base64({ random, pick, some, check });
};

const base64 = ({ random, pick, some, check }) => {
  for (let at = 0; at < 300; at++) {
    const text = some(['A', 'b', '1', '+', '/', '-', '_', '=', ' ', '\n', '*', 'QQ', 'YQ=='], 8).join('');
    check(`atob ${JSON.stringify(text)}`, () => atob(text));
  }
  for (let at = 0; at < 150; at++) {
    const text = Array.from({ length: random(8) }, () => String.fromCharCode(random(260))).join('');
    check(`btoa ${JSON.stringify(text)}`, () => btoa(text));
  }
  check('atob without arguments', () => atob());
  check('btoa of null', () => btoa(null));
};
