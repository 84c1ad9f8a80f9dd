//! PEM and DER to keys.

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey};

use super::{BAD_KEY, Key, PrivateKey, PublicKey};
use crate::natives::failure::Outcome;
use crate::natives::text;

const SEQUENCE: u8 = 0x30;
const EXPLICIT_VERSION: u8 = 0xa0;

// === impl Key ===

impl Key {
    /// Reads PEM or DER; what the DER holds is found by trying.
    pub(in crate::natives) fn parse(bytes: &[u8]) -> Outcome<Self> {
        let from_pem;
        let der = match pem_body(bytes) {
            Some(body) => {
                from_pem = body;
                &from_pem
            }
            None => bytes,
        };
        private(der)
            .map(Self::Private)
            .or_else(|| public(der).map(Self::Public))
            .or_else(|| certified_key(der).and_then(public).map(Self::Public))
            .ok_or(BAD_KEY)
    }
}

fn private(der: &[u8]) -> Option<PrivateKey> {
    let rsa = rsa::RsaPrivateKey::from_pkcs8_der(der).ok().or_else(|| rsa::RsaPrivateKey::from_pkcs1_der(der).ok());
    if let Some(key) = rsa {
        return Some(PrivateKey::Rsa(Box::new(key)));
    }
    if let Some(key) = p256::SecretKey::from_pkcs8_der(der).ok().or_else(|| p256::SecretKey::from_sec1_der(der).ok()) {
        return Some(PrivateKey::P256(key));
    }
    if let Some(key) = p384::SecretKey::from_pkcs8_der(der).ok().or_else(|| p384::SecretKey::from_sec1_der(der).ok()) {
        return Some(PrivateKey::P384(key));
    }
    ed25519_dalek::SigningKey::from_pkcs8_der(der).ok().map(|key| PrivateKey::Ed25519(Box::new(key)))
}

fn public(der: &[u8]) -> Option<PublicKey> {
    let rsa = rsa::RsaPublicKey::from_public_key_der(der).ok().or_else(|| rsa::RsaPublicKey::from_pkcs1_der(der).ok());
    if let Some(key) = rsa {
        return Some(PublicKey::Rsa(key));
    }
    if let Ok(key) = p256::PublicKey::from_public_key_der(der) {
        return Some(PublicKey::P256(key));
    }
    if let Ok(key) = p384::PublicKey::from_public_key_der(der) {
        return Some(PublicKey::P384(key));
    }
    ed25519_dalek::VerifyingKey::from_public_key_der(der).ok().map(PublicKey::Ed25519)
}

/// The bytes between the first pair of PEM's dashed lines.
fn pem_body(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (_, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once("-----END ")?;
    Some(text::decode_base64(&body.encode_utf16().collect::<Vec<_>>()))
}

/// The public key inside an X.509 certificate. Whether the certificate is to be believed is not asked here.
fn certified_key(der: &[u8]) -> Option<&[u8]> {
    let (SEQUENCE, certificate, _) = element(der)? else { return None };
    let (SEQUENCE, mut rest, _) = element(certificate)? else { return None };
    if let (EXPLICIT_VERSION, _, after) = element(rest)? {
        rest = after;
    }
    // Serial number, signature algorithm, issuer, validity and subject come before the key.
    for _ in 0..5 {
        (_, _, rest) = element(rest)?;
    }
    let (SEQUENCE, _, after) = element(rest)? else { return None };
    rest.get(..rest.len() - after.len())
}

/// The first DER element: its tag, its content, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut length = usize::from(first);
    if first >= 0x80 {
        let (digits, after) =
            rest.split_at_checked(usize::from(first & 0x7f)).filter(|(digits, _)| digits.len() <= 4)?;
        length = digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit));
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    Some((tag, content, after))
}
