//! How long the salt of a PSS signature is, for verifiers that are not told.

use rsa::traits::PublicKeyParts;
use rsa::{BigUint, RsaPublicKey};

use crate::natives::digest::digest;

/// What a signature says of its own salt (RFC 8017, 9.1.2); it still has to be verified.
pub(super) fn salt_length(key: &RsaPublicKey, hash: &str, signature: &[u8]) -> Option<usize> {
    let bits = key.n().bits().checked_sub(1)?;
    let opened = rsa::hazmat::rsa_encrypt(key, &BigUint::from_bytes_be(signature)).ok()?.to_bytes_be();
    let mut encoded = vec![0; bits.div_ceil(8).checked_sub(opened.len())?];
    encoded.extend(opened);
    let (0xbc, rest) = encoded.split_last()? else { return None };
    let hash_length = digest(hash, &[]).ok()?.len();
    let (masked, seed) = rest.split_at_checked(rest.len().checked_sub(hash_length)?)?;
    let mask = generate_mask(hash, seed, masked.len())?;
    let mut block: Vec<u8> = masked.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect();
    // The highest bits are no part of the number.
    let unused = encoded.len() * 8 - bits;
    let first = block.first_mut()?;
    *first &= 0xff_u8.checked_shr(unused as u32)?;
    // Zeros, a one, and the salt.
    let zeros = block.iter().take_while(|byte| **byte == 0).count();
    block.get(zeros).filter(|byte| **byte == 1)?;
    Some(block.len() - zeros - 1)
}

/// MGF1 of RFC 8017.
fn generate_mask(hash: &str, seed: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut mask = Vec::with_capacity(length);
    let mut counter = 0u32;
    while mask.len() < length {
        mask.extend(digest(hash, &[seed, &counter.to_be_bytes()].concat()).ok()?);
        counter += 1;
    }
    mask.truncate(length);
    Some(mask)
}
