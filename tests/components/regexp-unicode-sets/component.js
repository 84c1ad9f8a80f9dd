module.exports = {
  name: 'The flag v of regular expressions takes characters whole, and sets are refused',
  version: '0.0.1',
  type: 'action',
  async run() {
    const thrownBy = (source) => {
      try {
        return String(new RegExp(source, 'v'));
      } catch (error) {
        return error.name;
      }
    };
    const pattern = /[😀-😎]/v;
    return {
      found: '😃!'.replace(/[😀-😎]/gv, 'x'),
      emoji: [...'a😀b'.matchAll(/\p{Emoji_Presentation}/gv)].map(([found]) => found),
      flags: [pattern.flags, pattern.unicode, pattern.unicodeSets, /a/u.flags],
      refused: ['[a--b]', '[a&&b]', '[[a]b]', '[\\q{ab}]'].map(thrownBy),
      taken: ['[a\\-\\-b]', '\\[[a]', '[\\[a]'].map(thrownBy),
    };
  },
};
