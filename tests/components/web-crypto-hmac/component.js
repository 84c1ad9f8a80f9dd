// Webhook signatures are checked with HMAC.
module.exports = {
  name: 'web-crypto-hmac',
  version: '1.0.0',
  type: 'action',
  async run() {
    const secret = await crypto.subtle.importKey('raw', new TextEncoder().encode('secret'), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
    const signature = await crypto.subtle.sign('HMAC', secret, new TextEncoder().encode('{"a":1}'));
    const hex = [...new Uint8Array(signature)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    return [hex, await crypto.subtle.verify('HMAC', secret, signature, new TextEncoder().encode('{"a":1}')), await crypto.subtle.verify('HMAC', secret, signature, new TextEncoder().encode('{"a":2}'))];
  },
};
