'use strict';
// Headers.
const NAMES = ['a', 'A', 'Content-Type', 'set-cookie', 'Set-Cookie', 'x-y', 'cookie', 'bad name', '', 'ä', 'x\n', '!#$'];
const VALUES = ['1', ' 2 ', '', 'a, b', 'x\ty', 'ä', '€', 'a\nb', 'a\r\n', '\0', 'k=v; Path=/'];

module.exports = ({ random, pick, check }) => {
  for (let at = 0; at < 400; at++) {
    const steps = Array.from({ length: 1 + random(5) }, () => [pick(['append', 'append', 'set', 'delete']), pick(NAMES), pick(VALUES)]);
    check(`headers ${JSON.stringify(steps)}`, () => {
      const headers = new Headers();
      for (const [step, name, value] of steps) step === 'delete' ? headers.delete(name) : headers[step](name, value);
      return [[...headers], headers.getSetCookie(), headers.get(steps[0][1]), headers.has(steps[0][1])];
    });
  }
  for (const init of [undefined, {}, { a: 1 }, [['a', 'b'], ['A', 'c']], [['a']], new Map([['m', '1']]), 'x', null, 5, new Headers({ q: 'r' })]) {
    check(`headers of ${typeof init} ${JSON.stringify(init)}`, () => [...new Headers(init)]);
  }
  check('headers order', () => [...new Headers([['b', '1'], ['a', '2'], ['set-cookie', 'x'], ['c', '3'], ['set-cookie', 'y']])]);
};
