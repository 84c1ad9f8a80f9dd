//! PEM and DER to keys.

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use pkcs8::{EncryptedPrivateKeyInfo, ObjectIdentifier, PrivateKeyInfo, SubjectPublicKeyInfoRef};
use rsa::pkcs1::{DecodeRsaPrivateKey, DecodeRsaPublicKey};

use super::{BAD_KEY, BAD_PASSPHRASE, Key, NEEDS_PASSPHRASE, PrivateKey, PublicKey, legacy};
use crate::natives::failure::Outcome;
use crate::natives::text;

const SEQUENCE: u8 = 0x30;
const EXPLICIT_VERSION: u8 = 0xa0;
pub(super) const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");

/// An OCTET STRING of 32 bytes, which is how the private key of a curve of RFC 8410 is written.
const SCALAR_HEADER: [u8; 2] = [0x04, 0x20];

// === impl Key ===

impl Key {
    /// Reads PEM or DER; what the DER holds is found by trying.
    pub(in crate::natives) fn parse(bytes: &[u8]) -> Outcome<Self> {
        Self::open(bytes, None)
    }

    /// The same, for keys that may be locked with a passphrase.
    pub(super) fn open(bytes: &[u8], passphrase: Option<&[u8]>) -> Outcome<Self> {
        let plain = match Pem::find(bytes) {
            Some(pem) => pem.decode(passphrase)?,
            None => bytes.to_vec(),
        };
        let der = unlocked(plain, passphrase)?;
        private(&der)
            .map(Self::Private)
            .or_else(|| public(&der).map(Self::Public))
            .or_else(|| certified_key(&der).and_then(public).map(Self::Public))
            .ok_or(BAD_KEY)
    }
}

/// What is inside of PKCS#8's own envelope, or the DER as it is.
fn unlocked(der: Vec<u8>, passphrase: Option<&[u8]>) -> Outcome<Vec<u8>> {
    let Ok(locked) = EncryptedPrivateKeyInfo::try_from(der.as_slice()) else { return Ok(der) };
    let passphrase = passphrase.ok_or(NEEDS_PASSPHRASE)?;
    locked.decrypt(passphrase).map(|document| document.as_bytes().to_vec()).map_err(|_| BAD_PASSPHRASE)
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
    if let Some(key) = p521::SecretKey::from_pkcs8_der(der).ok().or_else(|| p521::SecretKey::from_sec1_der(der).ok()) {
        return Some(PrivateKey::P521(key));
    }
    if let Ok(key) = ed25519_dalek::SigningKey::from_pkcs8_der(der) {
        return Some(PrivateKey::Ed25519(Box::new(key)));
    }
    let info = PrivateKeyInfo::try_from(der).ok().filter(|info| info.algorithm.oid == X25519)?;
    let scalar: [u8; 32] = info.private_key.strip_prefix(&SCALAR_HEADER)?.try_into().ok()?;
    Some(PrivateKey::X25519(scalar.into()))
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
    if let Ok(key) = p521::PublicKey::from_public_key_der(der) {
        return Some(PublicKey::P521(key));
    }
    if let Ok(key) = ed25519_dalek::VerifyingKey::from_public_key_der(der) {
        return Some(PublicKey::Ed25519(key));
    }
    let info = SubjectPublicKeyInfoRef::try_from(der).ok().filter(|info| info.algorithm.oid == X25519)?;
    let point: [u8; 32] = info.subject_public_key.as_bytes()?.try_into().ok()?;
    Some(PublicKey::X25519(point.into()))
}

/// What stands between the first pair of PEM's dashed lines.
struct Pem<'a> {
    /// `Name: value` lines of the format before PKCS#8.
    headers: Vec<(&'a str, &'a str)>,
    body: Vec<u8>,
}

impl<'a> Pem<'a> {
    fn find(bytes: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (_, rest) = text.split_once("-----BEGIN ")?;
        let (_, rest) = rest.split_once("-----")?;
        let (body, _) = rest.split_once("-----END ")?;
        let headers = body.lines().filter_map(|line| line.split_once(": ")).collect();
        let base64: String = body.lines().filter(|line| !line.contains(": ")).collect();
        Some(Self { headers, body: text::decode_base64(&base64.encode_utf16().collect::<Vec<_>>()) })
    }

    fn decode(self, passphrase: Option<&[u8]>) -> Outcome<Vec<u8>> {
        let Some((_, lock)) = self.headers.iter().find(|(name, _)| *name == "DEK-Info") else {
            return Ok(self.body);
        };
        legacy::decrypt(lock.trim(), &self.body, passphrase.ok_or(NEEDS_PASSPHRASE)?)
    }
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
