// Keys are derived from passwords and from each other.
module.exports = {
  name: 'web-crypto-derive',
  version: '1.0.0',
  type: 'action',
  async run() {
    const hex = (buffer) => Buffer.from(buffer).toString('hex');
    const password = await crypto.subtle.importKey('raw', new TextEncoder().encode('pw'), 'PBKDF2', false, ['deriveBits']);
    const secret = await crypto.subtle.importKey('raw', new TextEncoder().encode('ikm'), 'HKDF', false, ['deriveKey']);
    const made = await crypto.subtle.deriveKey({ name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(0), info: new Uint8Array(0) }, secret, { name: 'AES-CBC', length: 128 }, true, ['encrypt']);
    return [hex(await crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: new Uint8Array(8), iterations: 1000 }, password, 256)), hex(await crypto.subtle.exportKey('raw', made))];
  },
};
