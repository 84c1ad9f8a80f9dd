//! Asymmetric keys: reading them in every form they are passed around in, and writing them in one.

mod encode;
mod jwk;
mod legacy;
mod parse;

use ed25519_dalek::pkcs8::{EncodePrivateKey, EncodePublicKey};
use rquickjs::prelude::{Func, Opt};
use rquickjs::{Array, Ctx, Object, Result};
use rsa::traits::PublicKeyParts;

use super::failure::{Bytes, Failure, Outcome, attempt, give, slice};

pub(super) const BAD_KEY: Failure = Failure {
    code: "ERR_OSSL_UNSUPPORTED",
    message: "The key is not in a form that is supported: PKCS#8, PKCS#1, SEC1, SPKI or X.509 of RSA, P-256, P-384, P-521, Ed25519 or X25519",
};
const NEEDS_PASSPHRASE: Failure =
    Failure { code: "ERR_MISSING_PASSPHRASE", message: "Passphrase required for encrypted key" };
const BAD_PASSPHRASE: Failure = Failure { code: "ERR_OSSL_BAD_DECRYPT", message: "bad decrypt" };
const WRONG_KIND: Failure =
    Failure { code: "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", message: "The key is of the wrong type for this operation" };

/// What stands before the 32 bytes of an X25519 key; it is the same for every key.
const X25519_PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x04, 0x22, 0x04, 0x20];
const X25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00];

/// A key of any kind.
pub(super) enum Key {
    Private(PrivateKey),
    Public(PublicKey),
}

pub(super) enum PrivateKey {
    Rsa(Box<rsa::RsaPrivateKey>),
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
    Ed25519(Box<ed25519_dalek::SigningKey>),
    X25519(x25519_dalek::StaticSecret),
}

pub(super) enum PublicKey {
    Rsa(rsa::RsaPublicKey),
    P256(p256::PublicKey),
    P384(p384::PublicKey),
    P521(p521::PublicKey),
    Ed25519(ed25519_dalek::VerifyingKey),
    X25519(x25519_dalek::PublicKey),
}

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("keyParse", Func::from(key_parse))?;
    host.set(
        "publicKeyOf",
        Func::from(|ctx, key: Bytes<'_>| give(ctx, Key::public(slice(&key)).and_then(|key| key.to_der()))),
    )?;
    host.set(
        "keyEncode",
        Func::from(|ctx, key: Bytes<'_>, form: String| {
            give(ctx, Key::parse(slice(&key)).and_then(|key| encode::traditional(&key, &form)))
        }),
    )?;
    host.set(
        "keyLock",
        Func::from(|ctx, der: Bytes<'_>, cipher: String, passphrase: Bytes<'_>| {
            give(ctx, encode::lock(slice(&der), &cipher, slice(&passphrase)))
        }),
    )?;
    jwk::add(host)
}

fn key_parse<'js>(ctx: Ctx<'js>, key: Bytes<'js>, passphrase: Opt<Option<Bytes<'js>>>) -> Result<Array<'js>> {
    let passphrase = passphrase.0.flatten();
    let key = attempt(&ctx, Key::open(slice(&key), passphrase.as_ref().map(slice)))?;
    describe(ctx, &key)
}

/// `[isPrivate, kind, bits or curve, der]`, with the DER as PKCS#8 or SPKI.
fn describe<'js>(ctx: Ctx<'js>, key: &Key) -> Result<Array<'js>> {
    let described = Array::new(ctx.clone())?;
    let (is_private, kind, curve, bits, der) = match key {
        Key::Private(key) => (true, key.kind(), key.curve(), key.bits(), key.to_der()),
        Key::Public(key) => (false, key.kind(), key.curve(), key.bits(), key.to_der()),
    };
    described.set(0, is_private)?;
    described.set(1, kind)?;
    match curve {
        Some(curve) => described.set(2, curve)?,
        None => described.set(2, bits as u32)?,
    }
    described.set(3, give(ctx, der)?)?;
    Ok(described)
}

// === impl Key ===

impl Key {
    pub(super) fn private(bytes: &[u8]) -> Outcome<PrivateKey> {
        match Self::parse(bytes)? {
            Self::Private(key) => Ok(key),
            Self::Public(_) => Err(WRONG_KIND),
        }
    }

    /// A public key, or the public half of a private one.
    pub(super) fn public(bytes: &[u8]) -> Outcome<PublicKey> {
        Self::parse(bytes).map(Self::into_public)
    }

    fn into_public(self) -> PublicKey {
        match self {
            Self::Private(key) => key.to_public(),
            Self::Public(key) => key,
        }
    }
}

// === impl PrivateKey ===

impl PrivateKey {
    pub(super) fn to_public(&self) -> PublicKey {
        match self {
            Self::Rsa(key) => PublicKey::Rsa(key.to_public_key()),
            Self::P256(key) => PublicKey::P256(key.public_key()),
            Self::P384(key) => PublicKey::P384(key.public_key()),
            Self::P521(key) => PublicKey::P521(key.public_key()),
            Self::Ed25519(key) => PublicKey::Ed25519(key.verifying_key()),
            Self::X25519(key) => PublicKey::X25519(key.into()),
        }
    }

    pub(super) fn to_der(&self) -> Outcome<Vec<u8>> {
        let document = match self {
            Self::Rsa(key) => EncodePrivateKey::to_pkcs8_der(key.as_ref()),
            Self::P256(key) => key.to_pkcs8_der(),
            Self::P384(key) => key.to_pkcs8_der(),
            Self::P521(key) => key.to_pkcs8_der(),
            Self::X25519(key) => return Ok([&X25519_PKCS8[..], key.as_bytes()].concat()),
            // With its public half, as version 2 of the format has it, OpenSSL would not read the key.
            Self::Ed25519(key) => {
                ed25519_dalek::pkcs8::KeypairBytes { secret_key: key.to_bytes(), public_key: None }.to_pkcs8_der()
            }
        };
        document.map(|document| document.as_bytes().to_vec()).map_err(|_| BAD_KEY)
    }

    fn kind(&self) -> &'static str {
        self.to_public().kind()
    }

    fn curve(&self) -> Option<&'static str> {
        self.to_public().curve()
    }

    fn bits(&self) -> usize {
        self.to_public().bits()
    }
}

// === impl PublicKey ===

impl PublicKey {
    pub(super) fn to_der(&self) -> Outcome<Vec<u8>> {
        let document = match self {
            Self::Rsa(key) => EncodePublicKey::to_public_key_der(key),
            Self::P256(key) => key.to_public_key_der(),
            Self::P384(key) => key.to_public_key_der(),
            Self::P521(key) => key.to_public_key_der(),
            Self::X25519(key) => return Ok([&X25519_SPKI[..], key.as_bytes()].concat()),
            Self::Ed25519(key) => key.to_public_key_der(),
        };
        document.map(|document| document.as_bytes().to_vec()).map_err(|_| BAD_KEY)
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "rsa",
            Self::P256(_) | Self::P384(_) | Self::P521(_) => "ec",
            Self::Ed25519(_) => "ed25519",
            Self::X25519(_) => "x25519",
        }
    }

    fn curve(&self) -> Option<&'static str> {
        match self {
            Self::P256(_) => Some("P-256"),
            Self::P384(_) => Some("P-384"),
            Self::P521(_) => Some("P-521"),
            Self::Rsa(_) | Self::Ed25519(_) | Self::X25519(_) => None,
        }
    }

    fn bits(&self) -> usize {
        match self {
            Self::Rsa(key) => key.n().bits(),
            Self::P256(_) | Self::Ed25519(_) | Self::X25519(_) => 256,
            Self::P384(_) => 384,
            Self::P521(_) => 521,
        }
    }
}
