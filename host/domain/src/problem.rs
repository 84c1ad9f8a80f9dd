//! One thing wrong with what a user wrote, and where.
//!
//! Problems are data for the user, not errors for us: a check collects all of them, so that a component is fixed in
//! one round instead of one deploy for every mistake.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A mistake at a dotted path, such as `props.timer.default.cron`. The path is empty for the value as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Problem {
    pub path: String,
    pub message: String,
}

/// The candidate closest to `given`, worded to be appended to a message; nothing when no candidate is close.
///
/// Comparing costs the product of the lengths, so neither long names nor long lists are compared in full.
pub fn did_you_mean<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    // Jaro-Winkler forgives the two usual slips, a wrong case and a letter swapped or lost, and 0.8 keeps it from
    // guessing: `channel` is offered for `chanel`, never for `token`.
    const CLOSE_ENOUGH: f64 = 0.8;
    const NAME_BYTES: usize = 64;
    const CANDIDATES: usize = 100;
    if given.len() > NAME_BYTES {
        return String::new();
    }
    let given = given.to_lowercase();
    candidates
        .into_iter()
        .take(CANDIDATES)
        .filter(|candidate| candidate.len() <= NAME_BYTES)
        .map(|candidate| (strsim::jaro_winkler(&given, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= CLOSE_ENOUGH)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default()
}

// === impl Problem ===

impl Problem {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return formatter.write_str(&self.message);
        }
        write!(formatter, "{}: {}", self.path, self.message)
    }
}

#[cfg(test)]
mod tests;
