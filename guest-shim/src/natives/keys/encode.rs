//! Keys in the forms that came before PKCS#8, and PKCS#8 under a passphrase.

use p256::elliptic_curve::pkcs8::AssociatedOid;
use pkcs8::PrivateKeyInfo;
use pkcs8::pkcs5::pbes2::Parameters;
use rand_core::RngCore;
use rsa::pkcs1::{EncodeRsaPrivateKey, EncodeRsaPublicKey};
use sec1::der::Encode;
use sec1::{EcParameters, EcPrivateKey};

use super::{BAD_KEY, Key, PrivateKey, PublicKey, WRONG_KIND};
use crate::natives::failure::{Failure, Outcome};
use crate::natives::random::Random;

const UNKNOWN_CIPHER: Failure =
    Failure { code: "ERR_CRYPTO_UNKNOWN_CIPHER", message: "Keys are encrypted with aes-128-cbc or aes-256-cbc" };

/// What OpenSSL uses.
const ITERATIONS: u32 = 2048;

/// RSA keys as PKCS#1, keys on curves as SEC1.
pub(super) fn traditional(key: &Key, form: &str) -> Outcome<Vec<u8>> {
    match (form, key) {
        ("pkcs1", Key::Private(PrivateKey::Rsa(key))) => {
            key.to_pkcs1_der().map(|document| document.as_bytes().to_vec()).map_err(|_| BAD_KEY)
        }
        ("pkcs1", Key::Public(PublicKey::Rsa(key))) => {
            key.to_pkcs1_der().map(|document| document.as_bytes().to_vec()).map_err(|_| BAD_KEY)
        }
        ("sec1", Key::Private(PrivateKey::P256(key))) => {
            sec1_der(&key.to_bytes(), &key.public_key().to_sec1_bytes(), p256::NistP256::OID)
        }
        ("sec1", Key::Private(PrivateKey::P384(key))) => {
            sec1_der(&key.to_bytes(), &key.public_key().to_sec1_bytes(), p384::NistP384::OID)
        }
        ("sec1", Key::Private(PrivateKey::P521(key))) => {
            sec1_der(&key.to_bytes(), &key.public_key().to_sec1_bytes(), p521::NistP521::OID)
        }
        _ => Err(WRONG_KIND),
    }
}

fn sec1_der(private_key: &[u8], public_key: &[u8], curve: pkcs8::ObjectIdentifier) -> Outcome<Vec<u8>> {
    let parameters = Some(EcParameters::NamedCurve(curve));
    EcPrivateKey { private_key, parameters, public_key: Some(public_key) }.to_der().map_err(|_| BAD_KEY)
}

/// PKCS#8 under PBES2, as OpenSSL writes it.
pub(super) fn lock(der: &[u8], cipher: &str, passphrase: &[u8]) -> Outcome<Vec<u8>> {
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    Random.fill_bytes(&mut salt);
    Random.fill_bytes(&mut iv);
    let parameters = match cipher.to_ascii_lowercase().as_str() {
        "aes-128-cbc" | "aes128" => Parameters::pbkdf2_sha256_aes128cbc(ITERATIONS, &salt, &iv),
        "aes-256-cbc" | "aes256" => Parameters::pbkdf2_sha256_aes256cbc(ITERATIONS, &salt, &iv),
        _ => return Err(UNKNOWN_CIPHER),
    };
    let info = PrivateKeyInfo::try_from(der).map_err(|_| WRONG_KIND)?;
    let locked = info.encrypt_with_params(parameters.map_err(|_| BAD_KEY)?, passphrase).map_err(|_| BAD_KEY)?;
    Ok(locked.as_bytes().to_vec())
}
