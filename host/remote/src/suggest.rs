//! Suggestions for a misspelt name.

/// Jaro-Winkler: `github` is offered for `gihub`, never for `slack`.
const CLOSE_ENOUGH: f64 = 0.8;
/// More would be a list, and there is a command for that.
const SUGGESTIONS: usize = 3;

/// The candidates closest to `given`, best first.
pub(crate) fn suggest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let given = given.to_lowercase();
    let mut close: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (closeness(&given, &candidate.to_lowercase()), candidate))
        .filter(|(closeness, _)| *closeness >= CLOSE_ENOUGH)
        .collect();
    close.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    close.dedup_by_key(|(_, candidate)| *candidate);
    close.into_iter().take(SUGGESTIONS).map(|(_, candidate)| candidate.to_owned()).collect()
}

/// A beginning counts as close: people stop typing when they think it is enough.
fn closeness(given: &str, candidate: &str) -> f64 {
    if given.len() >= 3 && candidate.starts_with(given) {
        return 1.0;
    }
    strsim::jaro_winkler(given, candidate)
}

#[cfg(test)]
mod tests;
