'use strict';
// Addresses: what `net.isIP` and its kin tell.
const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;

const isIPv4 = (text) => V4.test(String(text));
const isIPv6 = (text) => {
  const [address, zone] = String(text).split('%');
  if (zone === '') return false;
  const last = address.slice(address.lastIndexOf(':') + 1);
  const whole = last.includes('.') ? (isIPv4(last) ? address.slice(0, -last.length) + '0:0' : '') : address;
  const halves = whole.split('::');
  if (whole === '' || halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (groups.some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return false;
  return halves.length === 2 ? groups.length <= 7 : groups.length === 8;
};

return { isIPv4, isIPv6, isIP: (text) => (isIPv4(text) ? 4 : isIPv6(text) ? 6 : 0) };
