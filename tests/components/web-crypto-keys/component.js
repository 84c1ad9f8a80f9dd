// Keys are made, exported, imported and used to sign.
module.exports = {
  name: 'web-crypto-keys',
  version: '1.0.0',
  type: 'action',
  async run() {
    const results = [];
    for (const algorithm of [{ name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }, { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' }, { name: 'Ed25519' }]) {
      const pair = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const data = Uint8Array.of(1, 2, 3);
      const signature = await crypto.subtle.sign(algorithm, pair.privateKey, data);
      const jwk = await crypto.subtle.exportKey('jwk', pair.publicKey);
      const again = await crypto.subtle.importKey('jwk', jwk, algorithm, true, ['verify']);
      const spki = await crypto.subtle.importKey('spki', await crypto.subtle.exportKey('spki', pair.publicKey), algorithm, true, ['verify']);
      results.push([jwk.kty, jwk.crv, signature.byteLength, await crypto.subtle.verify(algorithm, again, signature, data), await crypto.subtle.verify(algorithm, spki, signature, Uint8Array.of(9))]);
    }
    return results;
  },
};
