//! The passphrase of PEM files before PKCS#8: `DEK-Info: AES-256-CBC,<iv>`.

use md5::{Digest, Md5};

use super::{BAD_KEY, BAD_PASSPHRASE};
use crate::natives::cipher::{Job, whole};
use crate::natives::failure::Outcome;

/// The salt of the key is the start of the IV.
const SALT_BYTES: usize = 8;

pub(super) fn decrypt(lock: &str, body: &[u8], passphrase: &[u8]) -> Outcome<Vec<u8>> {
    let (cipher, iv) = lock.split_once(',').ok_or(BAD_KEY)?;
    let cipher = cipher.to_ascii_lowercase();
    let key_length = match cipher.as_str() {
        "aes-128-cbc" => 16,
        "aes-192-cbc" | "des-ede3-cbc" => 24,
        "aes-256-cbc" => 32,
        _ => return Err(BAD_KEY),
    };
    let iv = from_hex(iv.trim()).ok_or(BAD_KEY)?;
    let salt = iv.get(..SALT_BYTES).ok_or(BAD_KEY)?;
    let key = derive(passphrase, salt, key_length);
    whole(&cipher, Job { is_encrypt: false, key: &key, iv: &iv, aad: &[] }, body).map_err(|_| BAD_PASSPHRASE)
}

/// OpenSSL's EVP_BytesToKey with MD5 and one round, which the format prescribes and new keys should not use.
fn derive(passphrase: &[u8], salt: &[u8], length: usize) -> Vec<u8> {
    let mut key: Vec<u8> = Vec::with_capacity(length + 16);
    let mut last = Vec::new();
    while key.len() < length {
        last = Md5::new().chain_update(&last).chain_update(passphrase).chain_update(salt).finalize().to_vec();
        key.extend_from_slice(&last);
    }
    key.truncate(length);
    key
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    Some(digits?.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}
