//! Signatures, and encryption with RSA keys.

mod pss;

use p256::ecdsa::signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use p256::ecdsa::signature::{Signer, Verifier};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};
use rsa::traits::PublicKeyParts;
use rsa::{Oaep, Pkcs1v15Encrypt, Pkcs1v15Sign, Pss};

use super::digest::digest;
use super::failure::{Bytes, Failure, Outcome, attempt, give, slice};
use super::keys::{Key, PrivateKey, PublicKey};
use super::random::Random;

const UNKNOWN_ALGORITHM: Failure =
    Failure { code: "ERR_CRYPTO_INVALID_DIGEST", message: "The algorithm is not supported with this key" };
const CANNOT_SIGN: Failure =
    Failure { code: "ERR_CRYPTO_OPERATION_FAILED", message: "The data cannot be signed with this key" };
const CANNOT_ENCRYPT: Failure =
    Failure { code: "ERR_CRYPTO_OPERATION_FAILED", message: "The data is too long for this key" };
const CANNOT_DECRYPT: Failure =
    Failure { code: "ERR_OSSL_RSA_OAEP_DECODING_ERROR", message: "The data cannot be decrypted with this key" };

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
        "rsaSignRaw",
        Func::from(|ctx, key: Bytes<'_>, data: Bytes<'_>| {
            give(ctx, Key::private(slice(&key)).and_then(|key| sign_raw(&key, slice(&data))))
        }),
    )?;
    host.set(
        "rsaRecover",
        Func::from(|ctx, key: Bytes<'_>, signature: Bytes<'_>| {
            give(ctx, Key::public(slice(&key)).and_then(|key| recover(&key, slice(&signature))))
        }),
    )
}

/// An algorithm is two letters and the size of a SHA: `RS256`, `PS384`, `ES256`, `ES256-der`; or `Ed25519`. The length of
/// PSS's salt follows a slash: `PS256/20`, `PS256/max`, `PS256/auto`; without it, it is that of the hash.
struct Algorithm {
    family: Family,
    /// Name of the hash, as `digest` takes it.
    hash: String,
    is_der: bool,
    salt: Salt,
}

#[derive(Clone, Copy)]
enum Salt {
    Hash,
    Bytes(usize),
    /// As long as the key allows.
    Longest,
    /// Whatever the signer chose.
    Any,
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
            let hash = digest(&algorithm.hash, data)?;
            let salt = algorithm.salt_length(hash.len(), key.size());
            key.sign_with_rng(&mut Random, algorithm.pss(salt)?, &hash).map_err(|_| CANNOT_SIGN)
        }
        (Family::Ecdsa, PrivateKey::P256(key)) => {
            let signature: p256::ecdsa::Signature = p256::ecdsa::SigningKey::from(key)
                .sign_prehash(&digest(&algorithm.hash, data)?)
                .map_err(|_| CANNOT_SIGN)?;
            Ok(if algorithm.is_der { signature.to_der().as_bytes().to_vec() } else { signature.to_bytes().to_vec() })
        }
        (Family::Ecdsa, PrivateKey::P521(key)) => {
            let signature: p521::ecdsa::Signature = p521::ecdsa::SigningKey::from_bytes(&key.to_bytes())
                .map_err(|_| CANNOT_SIGN)?
                .sign_prehash_with_rng(&mut Random, &padded(digest(&algorithm.hash, data)?, 66))
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
            let hash = digest(&algorithm.hash, data)?;
            let salt = match algorithm.salt {
                Salt::Any => pss::salt_length(key, &algorithm.hash, signature),
                _ => Some(algorithm.salt_length(hash.len(), key.size())),
            };
            let Some(salt) = salt else { return Ok(false) };
            Ok(key.verify(algorithm.pss(salt)?, &hash, signature).is_ok())
        }
        (Family::Ecdsa, PublicKey::P256(key)) => {
            use p256::ecdsa::Signature;
            let parsed =
                if algorithm.is_der { Signature::from_der(signature) } else { Signature::from_slice(signature) };
            let hash = digest(&algorithm.hash, data)?;
            Ok(parsed.is_ok_and(|parsed| p256::ecdsa::VerifyingKey::from(key).verify_prehash(&hash, &parsed).is_ok()))
        }
        (Family::Ecdsa, PublicKey::P521(key)) => {
            use p521::ecdsa::{Signature, VerifyingKey};
            let parsed =
                if algorithm.is_der { Signature::from_der(signature) } else { Signature::from_slice(signature) };
            let hash = padded(digest(&algorithm.hash, data)?, 66);
            let key = VerifyingKey::from_affine(*key.as_affine()).map_err(|_| UNKNOWN_ALGORITHM)?;
            Ok(parsed.is_ok_and(|parsed| key.verify_prehash(&hash, &parsed).is_ok()))
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

/// Signs bytes as they are, without saying which hash they are of.
fn sign_raw(key: &PrivateKey, data: &[u8]) -> Outcome<Vec<u8>> {
    let PrivateKey::Rsa(key) = key else { return Err(UNKNOWN_ALGORITHM) };
    key.sign_with_rng(&mut Random, Pkcs1v15Sign::new_unprefixed(), data).map_err(|_| CANNOT_ENCRYPT)
}

/// The bytes that [`sign_raw`] signed: `00 01 ff … ff 00` stands before them.
fn recover(key: &PublicKey, signature: &[u8]) -> Outcome<Vec<u8>> {
    let PublicKey::Rsa(key) = key else { return Err(UNKNOWN_ALGORITHM) };
    let signature = rsa::BigUint::from_bytes_be(signature);
    let opened = rsa::hazmat::rsa_encrypt(key, &signature).map_err(|_| CANNOT_DECRYPT)?.to_bytes_be();
    // The leading zero is no part of the number.
    let (&[0x01, ref rest @ ..], true) = (opened.as_slice(), opened.len() + 1 == key.size()) else {
        return Err(CANNOT_DECRYPT);
    };
    let filler = rest.iter().take_while(|byte| **byte == 0xff).count();
    match rest.split_at(filler).1 {
        [0, data @ ..] if filler >= 8 => Ok(data.to_vec()),
        _ => Err(CANNOT_DECRYPT),
    }
}

fn oaep(padding: &str, label: Option<String>) -> Outcome<Oaep> {
    let mut oaep = match padding {
        "oaep-sha1" => Oaep::new::<sha1::Sha1>(),
        "oaep-sha224" => Oaep::new::<sha2::Sha224>(),
        "oaep-sha256" => Oaep::new::<sha2::Sha256>(),
        "oaep-sha384" => Oaep::new::<sha2::Sha384>(),
        "oaep-sha512" => Oaep::new::<sha2::Sha512>(),
        _ => return Err(UNKNOWN_ALGORITHM),
    };
    oaep.label = label;
    Ok(oaep)
}

// === impl Algorithm ===

impl Algorithm {
    fn parse(name: &str) -> Outcome<Self> {
        if name.eq_ignore_ascii_case("ed25519") || name == "EdDSA" {
            return Ok(Self { family: Family::Ed25519, hash: String::new(), is_der: false, salt: Salt::Hash });
        }
        let (name, salt) = match name.split_once('/') {
            None => (name, Salt::Hash),
            Some((name, "max")) => (name, Salt::Longest),
            Some((name, "auto")) => (name, Salt::Any),
            Some((name, length)) => (name, Salt::Bytes(length.parse().map_err(|_| UNKNOWN_ALGORITHM)?)),
        };
        let (name, is_der) = name.strip_suffix("-der").map_or((name, false), |name| (name, true));
        let (family, size) = name.split_at_checked(2).ok_or(UNKNOWN_ALGORITHM)?;
        let family = match family {
            "RS" => Family::Pkcs1,
            "PS" => Family::Pss,
            "ES" => Family::Ecdsa,
            _ => return Err(UNKNOWN_ALGORITHM),
        };
        Ok(Self { family, hash: format!("sha{size}"), is_der, salt })
    }

    fn pkcs1(&self) -> Outcome<Pkcs1v15Sign> {
        Ok(match self.hash.as_str() {
            "sha1" => Pkcs1v15Sign::new::<sha1::Sha1>(),
            "sha224" => Pkcs1v15Sign::new::<sha2::Sha224>(),
            "sha256" => Pkcs1v15Sign::new::<sha2::Sha256>(),
            "sha384" => Pkcs1v15Sign::new::<sha2::Sha384>(),
            "sha512" => Pkcs1v15Sign::new::<sha2::Sha512>(),
            _ => return Err(UNKNOWN_ALGORITHM),
        })
    }

    fn pss(&self, salt: usize) -> Outcome<Pss> {
        Ok(match self.hash.as_str() {
            "sha1" => Pss::new_with_salt::<sha1::Sha1>(salt),
            "sha224" => Pss::new_with_salt::<sha2::Sha224>(salt),
            "sha256" => Pss::new_with_salt::<sha2::Sha256>(salt),
            "sha384" => Pss::new_with_salt::<sha2::Sha384>(salt),
            "sha512" => Pss::new_with_salt::<sha2::Sha512>(salt),
            _ => return Err(UNKNOWN_ALGORITHM),
        })
    }

    fn salt_length(&self, hash: usize, modulus: usize) -> usize {
        match self.salt {
            Salt::Hash => hash,
            Salt::Bytes(length) => length,
            Salt::Longest | Salt::Any => modulus.saturating_sub(hash + 2),
        }
    }
}
