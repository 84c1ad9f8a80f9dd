//! The order in which npm looks at names: `localeCompare` in English.
//!
//! It decides which of two packages is placed first, so it is visible in the tree. For what names and
//! paths of packages consist of, the collation is: punctuation, digits, letters without regard to case.

const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares like `localeCompare(…, "en")` on package names and paths.
pub(crate) fn key(text: &str) -> Vec<u32> {
    text.chars().map(rank).chain([0]).chain(text.chars().map(|letter| u32::from(letter.is_uppercase()))).collect()
}

fn rank(letter: char) -> u32 {
    let base = PUNCTUATION.chars().count() as u32 + 1;
    match PUNCTUATION.chars().position(|other| other == letter) {
        Some(at) => at as u32 + 1,
        None => base + u32::from(letter.to_ascii_lowercase()),
    }
}
