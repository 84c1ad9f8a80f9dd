'use strict';
// Intl.Segmenter over text put together at random.
const PIECES = ['Hello', 'wörld', 'e\u0301', '👍', '👍🏽', '👨‍👩‍👧', '🇩🇪', '🇫🇷', ' ', '  ', '. ', '? ', '! ', ', ', '\r\n', '\n', '3.14', '1,000', "don't", 'x_y', '#️⃣', '한국어', '(a)', '-', 'Ωμέγα', 'да'];

module.exports = ({ some, check }) => {
  for (let at = 0; at < 200; at++) {
    const text = some(PIECES, 6).join('');
    for (const granularity of ['grapheme', 'word', 'sentence']) {
      check(`${granularity}s of ${JSON.stringify(text)}`, () => [...new Intl.Segmenter('en', { granularity }).segment(text)].map(({ segment, index, isWordLike }) => [segment, index, isWordLike]));
    }
  }
  check('the segment at a place', () => [0, 3, 5, 11, 12, -1].map((at) => new Intl.Segmenter('en', { granularity: 'word' }).segment('Hello world.').containing(at)?.segment));
  check('a granularity that is none', () => new Intl.Segmenter('en', { granularity: 'page' }));
  check('what a segmenter says of itself', () => new Intl.Segmenter('en-US', { granularity: 'word' }).resolvedOptions());
};
