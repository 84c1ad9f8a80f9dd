//! Signatures, RSA encryption, key agreement, and making keys.

use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use p256::ecdsa::signature::{Signer, Verifier};
use rand_core::{CryptoRng, RngCore};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};
use rsa::{Oaep, Pkcs1v15Encrypt, Pkcs1v15Sign, Pss};

use super::digest::digest;
use super::failure::{Bytes, Failure, Outcome, attempt, give, slice};
use super::keys::{Key, PrivateKey, PublicKey};
use crate::wellspring::wall::random;

const UNKNOWN_ALGORITHM: Failure =
    Failure { code: "ERR_CRYPTO_INVALID_DIGEST", message: "The algorithm is not supported with this key" };
const CANNOT_SIGN: Failure =
    Failure { code: "ERR_CRYPTO_OPERATION_FAILED", message: "The data cannot be signed with this key" };
const CANNOT_ENCRYPT: Failure =
    Failure { code: "ERR_CRYPTO_OPERATION_FAILED", message: "The data is too long for this key" };
const CANNOT_DECRYPT: Failure =
    Failure { code: "ERR_OSSL_RSA_OAEP_DECODING_ERROR", message: "The data cannot be decrypted with this key" };
const BAD_KEY_SIZE: Failure = Failure {
    code: "ERR_OUT_OF_RANGE",
    message: "RSA keys have 1024 to 4096 bits; curves are P-256, P-384 and Ed25519",
};

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set(
        "sign",
        Func::from(|ctx, algorithm: String, key: Bytes<'_>, data: Bytes<'_>| {
            give(ctx, Key::private(slice(&key)).and_then(|key| sign(&algorithm, &key, slice(&data))))
        }),
    )?;
    host.set(
        "verify",
        Func::from(|ctx: Ctx<'_>, algorithm: String, key: Bytes<'_>, data: Bytes<'_>, signature: Bytes<'_>| {
            let is_valid =
                Key::public(slice(&key)).and_then(|key| verify(&algorithm, &key, slice(&data), slice(&signature)));
            attempt(&ctx, is_valid)
        }),
    )?;
    host.set(
        "rsaEncrypt",
        Func::from(|ctx, padding: String, key: Bytes<'_>, data: Bytes<'_>, label: Option<String>| {
            give(ctx, Key::public(slice(&key)).and_then(|key| encrypt(&padding, &key, slice(&data), label)))
        }),
    )?;
    host.set(
        "rsaDecrypt",
        Func::from(|ctx, padding: String, key: Bytes<'_>, data: Bytes<'_>, label: Option<String>| {
            give(ctx, Key::private(slice(&key)).and_then(|key| decrypt(&padding, &key, slice(&data), label)))
        }),
    )?;
    host.set(
        "ecdh",
        Func::from(|ctx, private: Bytes<'_>, public: Bytes<'_>| give(ctx, agree(slice(&private), slice(&public)))),
    )?;
    host.set("generateKeyPair", Func::from(generate_key_pair))
}

/// The host's randomness for RustCrypto.
struct Random;

/// An algorithm is two letters and the size of a SHA: `RS256`, `PS384`, `ES256`, `ES256-der`; or `Ed25519`.
struct Algorithm {
    family: Family,
    /// Name of the hash, as `digest` takes it.
    hash: String,
    is_der: bool,
}

#[derive(PartialEq)]
enum Family {
    Pkcs1,
    Pss,
    Ecdsa,
    Ed25519,
}

fn sign(algorithm: &str, key: &PrivateKey, data: &[u8]) -> Outcome<Vec<u8>> {
    let algorithm = Algorithm::parse(algorithm)?;
    match (&algorithm.family, key) {
        (Family::Ed25519, PrivateKey::Ed25519(key)) => Ok(key.sign(data).to_bytes().to_vec()),
        (Family::Pkcs1, PrivateKey::Rsa(key)) => {
            key.sign_with_rng(&mut Random, algorithm.pkcs1()?, &digest(&algorithm.hash, data)?).map_err(|_| CANNOT_SIGN)
        }
        (Family::Pss, PrivateKey::Rsa(key)) => {
            key.sign_with_rng(&mut Random, algorithm.pss()?, &digest(&algorithm.hash, data)?).map_err(|_| CANNOT_SIGN)
        }
        (Family::Ecdsa, PrivateKey::P256(key)) => {
            let signature: p256::ecdsa::Signature = p256::ecdsa::SigningKey::from(key)
                .sign_prehash(&digest(&algorithm.hash, data)?)
                .map_err(|_| CANNOT_SIGN)?;
            Ok(if algorithm.is_der { signature.to_der().as_bytes().to_vec() } else { signature.to_bytes().to_vec() })
        }
        (Family::Ecdsa, PrivateKey::P384(key)) => {
            let signature: p384::ecdsa::Signature = p384::ecdsa::SigningKey::from(key)
                .sign_prehash(&padded(digest(&algorithm.hash, data)?, 48))
                .map_err(|_| CANNOT_SIGN)?;
            Ok(if algorithm.is_der { signature.to_der().as_bytes().to_vec() } else { signature.to_bytes().to_vec() })
        }
        _ => Err(UNKNOWN_ALGORITHM),
    }
}

/// A hash shorter than half the curve is refused by RustCrypto; zeros in front leave the number what it is.
fn padded(hash: Vec<u8>, length: usize) -> Vec<u8> {
    let mut padded = vec![0; length.saturating_sub(hash.len())];
    padded.extend(hash);
    padded
}

fn verify(algorithm: &str, key: &PublicKey, data: &[u8], signature: &[u8]) -> Outcome<bool> {
    let algorithm = Algorithm::parse(algorithm)?;
    match (&algorithm.family, key) {
        (Family::Ed25519, PublicKey::Ed25519(key)) => {
            Ok(ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify(data, &signature).is_ok()))
        }
        (Family::Pkcs1, PublicKey::Rsa(key)) => {
            Ok(key.verify(algorithm.pkcs1()?, &digest(&algorithm.hash, data)?, signature).is_ok())
        }
        (Family::Pss, PublicKey::Rsa(key)) => {
            Ok(key.verify(algorithm.pss()?, &digest(&algorithm.hash, data)?, signature).is_ok())
        }
        (Family::Ecdsa, PublicKey::P256(key)) => {
            use p256::ecdsa::Signature;
            let parsed =
                if algorithm.is_der { Signature::from_der(signature) } else { Signature::from_slice(signature) };
            let hash = digest(&algorithm.hash, data)?;
            Ok(parsed.is_ok_and(|parsed| p256::ecdsa::VerifyingKey::from(key).verify_prehash(&hash, &parsed).is_ok()))
        }
        (Family::Ecdsa, PublicKey::P384(key)) => {
            use p384::ecdsa::Signature;
            let parsed =
                if algorithm.is_der { Signature::from_der(signature) } else { Signature::from_slice(signature) };
            let hash = padded(digest(&algorithm.hash, data)?, 48);
            Ok(parsed.is_ok_and(|parsed| p384::ecdsa::VerifyingKey::from(key).verify_prehash(&hash, &parsed).is_ok()))
        }
        _ => Err(UNKNOWN_ALGORITHM),
    }
}

/// `padding` is `pkcs1` or `oaep-<hash>`.
fn encrypt(padding: &str, key: &PublicKey, data: &[u8], label: Option<String>) -> Outcome<Vec<u8>> {
    let PublicKey::Rsa(key) = key else { return Err(UNKNOWN_ALGORITHM) };
    match padding {
        "pkcs1" => key.encrypt(&mut Random, Pkcs1v15Encrypt, data),
        _ => key.encrypt(&mut Random, oaep(padding, label)?, data),
    }
    .map_err(|_| CANNOT_ENCRYPT)
}

fn decrypt(padding: &str, key: &PrivateKey, data: &[u8], label: Option<String>) -> Outcome<Vec<u8>> {
    let PrivateKey::Rsa(key) = key else { return Err(UNKNOWN_ALGORITHM) };
    match padding {
        "pkcs1" => key.decrypt_blinded(&mut Random, Pkcs1v15Encrypt, data),
        _ => key.decrypt_blinded(&mut Random, oaep(padding, label)?, data),
    }
    .map_err(|_| CANNOT_DECRYPT)
}

fn oaep(padding: &str, label: Option<String>) -> Outcome<Oaep> {
    let mut oaep = match padding {
        "oaep-sha1" => Oaep::new::<sha1::Sha1>(),
        "oaep-sha256" => Oaep::new::<sha2::Sha256>(),
        "oaep-sha384" => Oaep::new::<sha2::Sha384>(),
        "oaep-sha512" => Oaep::new::<sha2::Sha512>(),
        _ => return Err(UNKNOWN_ALGORITHM),
    };
    oaep.label = label;
    Ok(oaep)
}

/// The x coordinate that both sides arrive at.
fn agree(private: &[u8], public: &[u8]) -> Outcome<Vec<u8>> {
    match (Key::private(private)?, Key::public(public)?) {
        (PrivateKey::P256(own), PublicKey::P256(other)) => {
            let shared = p256::ecdh::diffie_hellman(own.to_nonzero_scalar(), other.as_affine());
            Ok(shared.raw_secret_bytes().to_vec())
        }
        (PrivateKey::P384(own), PublicKey::P384(other)) => {
            let shared = p384::ecdh::diffie_hellman(own.to_nonzero_scalar(), other.as_affine());
            Ok(shared.raw_secret_bytes().to_vec())
        }
        _ => Err(UNKNOWN_ALGORITHM),
    }
}

/// `{privatePkcs8, publicSpki}` of a new key; `kind` is `rsa` (with bits), `P-256`, `P-384` or `Ed25519`.
fn generate_key_pair<'js>(ctx: Ctx<'js>, kind: String, bits: Option<u32>) -> Result<Object<'js>> {
    let key = attempt(&ctx, generate(&kind, bits.unwrap_or(2048)))?;
    let pair = Object::new(ctx.clone())?;
    pair.set("privatePkcs8", give(ctx.clone(), key.to_der())?)?;
    pair.set("publicSpki", give(ctx, key.to_public().to_der())?)?;
    Ok(pair)
}

fn generate(kind: &str, bits: u32) -> Outcome<PrivateKey> {
    match kind {
        "rsa" if (1024..=4096).contains(&bits) => {
            let key = rsa::RsaPrivateKey::new(&mut Random, bits as usize).map_err(|_| BAD_KEY_SIZE)?;
            Ok(PrivateKey::Rsa(Box::new(key)))
        }
        "P-256" => Ok(PrivateKey::P256(p256::SecretKey::random(&mut Random))),
        "P-384" => Ok(PrivateKey::P384(p384::SecretKey::random(&mut Random))),
        "Ed25519" => {
            let mut seed = [0; 32];
            Random.fill_bytes(&mut seed);
            Ok(PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed))))
        }
        _ => Err(BAD_KEY_SIZE),
    }
}

// === impl Algorithm ===

impl Algorithm {
    fn parse(name: &str) -> Outcome<Self> {
        if name.eq_ignore_ascii_case("ed25519") || name == "EdDSA" {
            return Ok(Self { family: Family::Ed25519, hash: String::new(), is_der: false });
        }
        let (name, is_der) = name.strip_suffix("-der").map_or((name, false), |name| (name, true));
        let (family, size) = name.split_at_checked(2).ok_or(UNKNOWN_ALGORITHM)?;
        let family = match family {
            "RS" => Family::Pkcs1,
            "PS" => Family::Pss,
            "ES" => Family::Ecdsa,
            _ => return Err(UNKNOWN_ALGORITHM),
        };
        Ok(Self { family, hash: format!("sha{size}"), is_der })
    }

    fn pkcs1(&self) -> Outcome<Pkcs1v15Sign> {
        Ok(match self.hash.as_str() {
            "sha1" => Pkcs1v15Sign::new::<sha1::Sha1>(),
            "sha256" => Pkcs1v15Sign::new::<sha2::Sha256>(),
            "sha384" => Pkcs1v15Sign::new::<sha2::Sha384>(),
            "sha512" => Pkcs1v15Sign::new::<sha2::Sha512>(),
            _ => return Err(UNKNOWN_ALGORITHM),
        })
    }

    /// With a salt as long as the hash, as JOSE and WebCrypto use it.
    fn pss(&self) -> Outcome<Pss> {
        Ok(match self.hash.as_str() {
            "sha1" => Pss::new::<sha1::Sha1>(),
            "sha256" => Pss::new::<sha2::Sha256>(),
            "sha384" => Pss::new::<sha2::Sha384>(),
            "sha512" => Pss::new::<sha2::Sha512>(),
            _ => return Err(UNKNOWN_ALGORITHM),
        })
    }
}

// === impl Random ===

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&random::bytes(buffer.len() as u32));
    }

    fn try_fill_bytes(&mut self, buffer: &mut [u8]) -> std::result::Result<(), rand_core::Error> {
        self.fill_bytes(buffer);
        Ok(())
    }
}

impl CryptoRng for Random {}
