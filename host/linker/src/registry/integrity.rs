//! Checks bytes against a subresource-integrity text such as `sha512-…`.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The strongest digest that the text names decides; a text without a known one is never met.
pub(crate) fn is_met(integrity: &str, bytes: &[u8]) -> bool {
    let digest_of = |algorithm: &str| match algorithm {
        "sha512" => Some((4, Sha512::digest(bytes).to_vec())),
        "sha384" => Some((3, Sha384::digest(bytes).to_vec())),
        "sha256" => Some((2, Sha256::digest(bytes).to_vec())),
        "sha1" => Some((1, Sha1::digest(bytes).to_vec())),
        _ => None,
    };
    let mut strongest = 0;
    let mut is_met = false;
    for part in integrity.split_ascii_whitespace() {
        let Some((algorithm, rest)) = part.split_once('-') else { continue };
        let Some((strength, digest)) = digest_of(algorithm) else { continue };
        let wanted = rest.split('?').next().unwrap_or_default();
        let equal = STANDARD.encode(digest) == wanted;
        if strength > strongest {
            (strongest, is_met) = (strength, equal);
        } else if strength == strongest {
            is_met |= equal;
        }
    }
    is_met
}

#[cfg(test)]
mod tests;
