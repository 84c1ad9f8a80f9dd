'use strict';
// Decimal numbers as digits, so that rounding is that of the decimal text and not of the binary value.
//
// A decimal is {isNegative, digits, point}: 0.digits × 10^point, digits without leading or trailing zeros.
const trim = (isNegative, digits, point) => {
  let start = 0;
  while (digits[start] === '0') start += 1;
  const kept = digits.slice(start).replace(/0+$/, '');
  return { isNegative, digits: kept, point: kept === '' ? 0 : point - start };
};

const parse = (value) => {
  const text = typeof value === 'bigint' ? value.toString() : String(value);
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text);
  const isNegative = sign === '-' || Object.is(value, -0);
  return trim(isNegative, whole + fraction, whole.length + Number(exponent));
};

// Keeps `count` digits after the leading one, half away from zero; `count` may be negative.
const roundAt = (decimal, count) => {
  const { isNegative, digits, point } = decimal;
  if (count >= digits.length) return decimal;
  if (count < 0) return trim(isNegative, '', 0);
  const isUp = digits[count] >= '5';
  const kept = digits.slice(0, count);
  if (!isUp) return trim(isNegative, kept, point);
  const raised = (BigInt(`0${kept}`) + 1n).toString().padStart(count, '0');
  return trim(isNegative, raised, point + raised.length - count);
};

const roundToFraction = (decimal, places) => roundAt(decimal, decimal.point + places);
const roundToSignificant = (decimal, count) => roundAt(decimal, count);
const shift = (decimal, places) => (decimal.digits === '' ? decimal : { ...decimal, point: decimal.point + places });

// Whole and fractional digits, with at least `minFraction` of the latter.
const split = ({ digits, point }, minFraction, minInteger) => {
  const padded = point > 0 ? digits.padEnd(point, '0') : digits;
  const whole = point > 0 ? padded.slice(0, point) : '';
  const fraction = point > 0 ? padded.slice(point) : digits === '' ? '' : '0'.repeat(-point) + digits;
  return { whole: whole.padStart(minInteger, '0'), fraction: fraction.padEnd(minFraction, '0') };
};

return { parse, roundToFraction, roundToSignificant, shift, split };
