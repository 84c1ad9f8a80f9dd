// A key does only what it was made for.
module.exports = {
  name: 'web-crypto-key-rules',
  version: '1.0.0',
  type: 'action',
  async run() {
    const key = await crypto.subtle.generateKey({ name: 'AES-CBC', length: 128 }, false, ['encrypt']);
    const attempt = (work) => work().then(() => 'allowed', (error) => error.name);
    return [await attempt(() => crypto.subtle.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, key, new Uint8Array(16))), await attempt(() => crypto.subtle.sign('HMAC', key, new Uint8Array(1))), await attempt(() => crypto.subtle.importKey('raw', new Uint8Array(5), 'AES-CBC', true, ['encrypt']))];
  },
};
