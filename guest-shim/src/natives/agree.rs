//! Secrets that two keys agree on, and making keys.

use rand_core::RngCore;
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};

use super::failure::{Bytes, Failure, Outcome, attempt, give, slice};
use super::keys::{Key, PrivateKey, PublicKey};
use super::random::Random;

const CANNOT_AGREE: Failure =
    Failure { code: "ERR_CRYPTO_INCOMPATIBLE_KEY", message: "The two keys are not of one curve" };
const BAD_KEY_SIZE: Failure = Failure {
    code: "ERR_OUT_OF_RANGE",
    message: "RSA keys have 1024 to 4096 bits; curves are P-256, P-384, P-521, Ed25519 and X25519",
};

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set(
        "ecdh",
        Func::from(|ctx, private: Bytes<'_>, public: Bytes<'_>| give(ctx, agree(slice(&private), slice(&public)))),
    )?;
    host.set("generateKeyPair", Func::from(generate_key_pair))
}

/// The x coordinate that both sides arrive at.
fn agree(private: &[u8], public: &[u8]) -> Outcome<Vec<u8>> {
    match (Key::private(private)?, Key::public(public)?) {
        (PrivateKey::P256(own), PublicKey::P256(other)) => {
            let shared = p256::ecdh::diffie_hellman(own.to_nonzero_scalar(), other.as_affine());
            Ok(shared.raw_secret_bytes().to_vec())
        }
        (PrivateKey::P521(own), PublicKey::P521(other)) => {
            let shared = p521::ecdh::diffie_hellman(own.to_nonzero_scalar(), other.as_affine());
            Ok(shared.raw_secret_bytes().to_vec())
        }
        (PrivateKey::X25519(own), PublicKey::X25519(other)) => {
            let shared = own.diffie_hellman(&other);
            if shared.was_contributory() { Ok(shared.as_bytes().to_vec()) } else { Err(CANNOT_AGREE) }
        }
        (PrivateKey::P384(own), PublicKey::P384(other)) => {
            let shared = p384::ecdh::diffie_hellman(own.to_nonzero_scalar(), other.as_affine());
            Ok(shared.raw_secret_bytes().to_vec())
        }
        _ => Err(CANNOT_AGREE),
    }
}

/// `{privatePkcs8, publicSpki}` of a new key; `kind` is `rsa` (with bits), a curve: `P-256`, `P-384`,
/// `P-521`, `Ed25519` or `X25519`.
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
        "P-521" => Ok(PrivateKey::P521(p521::SecretKey::random(&mut Random))),
        "X25519" => Ok(PrivateKey::X25519(x25519_dalek::StaticSecret::random_from_rng(Random))),
        "Ed25519" => {
            let mut seed = [0; 32];
            Random.fill_bytes(&mut seed);
            Ok(PrivateKey::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(&seed))))
        }
        _ => Err(BAD_KEY_SIZE),
    }
}
