//! The short name of a source in addresses and command lines.

/// Lower case; each run of other characters than a-z and 0-9 becomes one `-`. Ends are trimmed, and a name without
/// any such character gives `source`, because an empty slug cannot be addressed.
pub fn slugify(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|character: char| !character.is_ascii_lowercase() && !character.is_ascii_digit());
    let slug = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "source".to_owned() } else { slug }
}

/// The first of `slug`, `slug-2`, `slug-3`… that is not taken in the account.
pub fn unique_slug(name: &str, mut is_taken: impl FnMut(&str) -> bool) -> String {
    let slug = slugify(name);
    if !is_taken(&slug) {
        return slug;
    }
    let mut number = 2_u64;
    loop {
        let numbered = format!("{slug}-{number}");
        if !is_taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests;
