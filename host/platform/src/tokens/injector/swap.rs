//! Puts credentials where a component has stand-ins, or older ones: in headers and addresses, in their own encodings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::Url;

/// What a component has, and what is sent in its place.
pub(super) struct Swap {
    pub(super) shown: String,
    pub(super) real: String,
}

pub(super) fn swapped_header(name: &str, value: &str, swaps: &[Swap]) -> Option<String> {
    let plain = swapped(value, swaps);
    if plain.is_some() || !name.eq_ignore_ascii_case("authorization") {
        return plain;
    }
    // A client that was given a user and a password has encoded them already.
    Some(format!("Basic {}", STANDARD.encode(swapped(&basic_of(value)?, swaps)?)))
}

fn swapped(text: &str, swaps: &[Swap]) -> Option<String> {
    let mut found = None;
    for swap in swaps {
        let text = found.as_deref().unwrap_or(text);
        if text.contains(&swap.shown) {
            found = Some(text.replace(&swap.shown, &swap.real));
        }
    }
    found
}

/// With values of the query, and the path, in their own encoding.
pub(super) fn swapped_url(url: &Url, swaps: &[Swap]) -> Url {
    let mut target = url.clone();
    if let Some(path) = swapped(url.path(), swaps) {
        target.set_path(&path);
    }
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    if pairs.iter().any(|(_, value)| swapped(value, swaps).is_some()) {
        let pairs = pairs.into_iter().map(|(name, value)| {
            let real = swapped(&value, swaps).unwrap_or(value);
            (name, real)
        });
        target.query_pairs_mut().clear().extend_pairs(pairs);
    }
    target
}

pub(super) fn basic_of(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("Basic ").or_else(|| value.strip_prefix("basic "))?;
    String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()
}
