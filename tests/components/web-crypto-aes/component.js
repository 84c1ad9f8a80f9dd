// AES encrypts and decrypts, and GCM notices what was changed.
module.exports = {
  name: 'web-crypto-aes',
  version: '1.0.0',
  type: 'action',
  async run() {
    const key = await crypto.subtle.importKey('raw', new Uint8Array(32).fill(7), 'AES-GCM', true, ['encrypt', 'decrypt']);
    const algorithm = { name: 'AES-GCM', iv: new Uint8Array(12), additionalData: Uint8Array.of(1) };
    const sealed = new Uint8Array(await crypto.subtle.encrypt(algorithm, key, new TextEncoder().encode('plain')));
    const opened = new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, sealed));
    sealed[0] ^= 1;
    const refused = await crypto.subtle.decrypt(algorithm, key, sealed).catch((error) => error.name);
    const cbc = await crypto.subtle.importKey('raw', new Uint8Array(16), 'AES-CBC', true, ['encrypt']);
    return [sealed.length, opened, refused, [...new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, cbc, Uint8Array.of(1, 2, 3)))]];
  },
};
