//! Hashes, and what is made of them: HMAC and the derivation of keys.

use hmac::{Hmac, Mac};
use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, Result};
use sha2::Digest;
use subtle::ConstantTimeEq;

use super::failure::{Bytes, Failure, Outcome, attempt, give, slice};

const UNKNOWN_DIGEST: Failure = Failure { code: "ERR_CRYPTO_INVALID_DIGEST", message: "Digest method not supported" };
const BAD_LENGTH: Failure = Failure { code: "ERR_CRYPTO_INVALID_KEYLEN", message: "Invalid key length" };
const BAD_ITERATIONS: Failure =
    Failure { code: "ERR_OUT_OF_RANGE", message: "The number of iterations must be at least 1" };
const BAD_SCRYPT: Failure = Failure {
    code: "ERR_CRYPTO_INVALID_SCRYPT_PARAMS",
    message: "Invalid scrypt params: N must be a power of two and memory within bounds",
};
const UNEQUAL_LENGTHS: Failure =
    Failure { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", message: "Input buffers must have the same byte length" };

/// What scrypt may take, which is half of what a run has by default.
const MAX_SCRYPT_BYTES: u64 = 64 << 20;

/// Evaluates `$body` with `$hash` standing for the hash that `$name` names.
macro_rules! with_hash {
    ($name:expr, $hash:ident => $body:expr) => {
        match normal_name($name).as_str() {
            "md5" => {
                type $hash = md5::Md5;
                $body
            }
            "sha1" => {
                type $hash = sha1::Sha1;
                $body
            }
            "sha224" => {
                type $hash = sha2::Sha224;
                $body
            }
            "sha256" => {
                type $hash = sha2::Sha256;
                $body
            }
            "sha384" => {
                type $hash = sha2::Sha384;
                $body
            }
            "sha512" => {
                type $hash = sha2::Sha512;
                $body
            }
            "sha512256" => {
                type $hash = sha2::Sha512_256;
                $body
            }
            "sha512224" => {
                type $hash = sha2::Sha512_224;
                $body
            }
            "sha3256" => {
                type $hash = sha3::Sha3_256;
                $body
            }
            "sha3384" => {
                type $hash = sha3::Sha3_384;
                $body
            }
            "sha3512" => {
                type $hash = sha3::Sha3_512;
                $body
            }
            "ripemd160" | "rmd160" => {
                type $hash = ripemd::Ripemd160;
                $body
            }
            _ => Err(UNKNOWN_DIGEST),
        }
    };
}

pub(super) fn add(host: &Object<'_>) -> Result<()> {
    host.set("digest", Func::from(|ctx, name: String, data: Bytes<'_>| give(ctx, digest(&name, slice(&data)))))?;
    host.set(
        "hmac",
        Func::from(|ctx, name: String, key: Bytes<'_>, data: Bytes<'_>| {
            give(ctx, hmac(&name, slice(&key), slice(&data)))
        }),
    )?;
    host.set("pbkdf2", Func::from(pbkdf2))?;
    host.set("hkdf", Func::from(hkdf))?;
    host.set("scrypt", Func::from(scrypt))?;
    host.set(
        "timingSafeEqual",
        Func::from(|ctx: Ctx<'_>, a: Bytes<'_>, b: Bytes<'_>| attempt(&ctx, is_equal(slice(&a), slice(&b)))),
    )
}

/// Names are written in many ways: `SHA-256`, `sha256`, `RSA-SHA256`.
fn normal_name(name: &str) -> String {
    let name: String =
        name.chars().filter(|at| !matches!(at, '-' | '_' | '/')).collect::<String>().to_ascii_lowercase();
    name.strip_prefix("rsa").map(str::to_owned).unwrap_or(name)
}

pub(super) fn digest(name: &str, data: &[u8]) -> Outcome<Vec<u8>> {
    with_hash!(name, Hash => Ok(Hash::digest(data).to_vec()))
}

fn hmac(name: &str, key: &[u8], data: &[u8]) -> Outcome<Vec<u8>> {
    with_hash!(name, Hash => {
        let mut mac = <Hmac<Hash> as Mac>::new_from_slice(key).map_err(|_| BAD_LENGTH)?;
        mac.update(data);
        Ok(mac.finalize().into_bytes().to_vec())
    })
}

fn pbkdf2<'js>(
    ctx: Ctx<'js>,
    name: String,
    password: Bytes<'js>,
    salt: Bytes<'js>,
    iterations: u32,
    length: u32,
) -> Result<Bytes<'js>> {
    give(ctx, derive_pbkdf2(&name, slice(&password), slice(&salt), iterations, length as usize))
}

fn derive_pbkdf2(name: &str, password: &[u8], salt: &[u8], iterations: u32, length: usize) -> Outcome<Vec<u8>> {
    if iterations == 0 {
        return Err(BAD_ITERATIONS);
    }
    let mut key = vec![0; length];
    with_hash!(name, Hash => {
        pbkdf2::pbkdf2_hmac::<Hash>(password, salt, iterations, &mut key);
        Ok(())
    })?;
    Ok(key)
}

fn hkdf<'js>(
    ctx: Ctx<'js>,
    name: String,
    key: Bytes<'js>,
    salt: Bytes<'js>,
    info: Bytes<'js>,
    length: u32,
) -> Result<Bytes<'js>> {
    give(ctx, derive_hkdf(&name, [slice(&key), slice(&salt), slice(&info)], length as usize))
}

fn derive_hkdf(name: &str, [key, salt, info]: [&[u8]; 3], length: usize) -> Outcome<Vec<u8>> {
    let mut derived = vec![0; length];
    with_hash!(name, Hash => {
        hkdf::Hkdf::<Hash>::new(Some(salt), key).expand(info, &mut derived).map_err(|_| BAD_LENGTH)
    })?;
    Ok(derived)
}

#[expect(clippy::too_many_arguments, reason = "the arguments of the JavaScript function")]
fn scrypt<'js>(
    ctx: Ctx<'js>,
    password: Bytes<'js>,
    salt: Bytes<'js>,
    cost: f64,
    block_size: u32,
    parallelism: u32,
    length: u32,
) -> Result<Bytes<'js>> {
    give(ctx, derive_scrypt(slice(&password), slice(&salt), (cost, block_size, parallelism), length as usize))
}

fn derive_scrypt(password: &[u8], salt: &[u8], (cost, r, p): (f64, u32, u32), length: usize) -> Outcome<Vec<u8>> {
    let cost = cost as u64;
    let needed = cost.saturating_mul(u64::from(r)).saturating_mul(128);
    if !cost.is_power_of_two() || cost < 2 || needed > MAX_SCRYPT_BYTES {
        return Err(BAD_SCRYPT);
    }
    let log_cost = cost.trailing_zeros() as u8;
    // The length given here is only checked against a range of its own; the real one is that of the buffer.
    let parameters = scrypt::Params::new(log_cost, r, p, 32).map_err(|_| BAD_SCRYPT)?;
    let mut key = vec![0; length];
    if length > 0 {
        scrypt::scrypt(password, salt, &parameters, &mut key).map_err(|_| BAD_LENGTH)?;
    }
    Ok(key)
}

fn is_equal(a: &[u8], b: &[u8]) -> Outcome<bool> {
    if a.len() != b.len() {
        return Err(UNEQUAL_LENGTHS);
    }
    Ok(a.ct_eq(b).into())
}
