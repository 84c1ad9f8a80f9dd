//! A component by its address, with the files it requires from beside it.
//!
//! What a file requires is found by looking at its string literals: a text that starts with `./` or `../` may be a file.
//! Guessing too much costs a request that finds nothing; what is really missing the linker names.

use std::collections::{BTreeMap, HashSet, VecDeque};

use store::Tenant;
use url::Url;

use crate::ports::{ComponentSource, Fetched, OutboundError};
use crate::{Error, ParameterError, Platform};

/// Far more than components have; a bound on what one request makes us fetch.
const FILES_MAXIMUM: usize = 50;
const ATTEMPTS_MAXIMUM: usize = 200;
const EXTENSIONS: [&str; 7] = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".json"];

pub(super) async fn component(
    tenant: &Tenant,
    platform: &Platform,
    url: &str,
    filename: Option<String>,
) -> Result<ComponentSource, Error> {
    let parsed = domain::webhooks::WebhookUrl::parse(url).map_err(|error| Error::parameter("component_url", error))?;
    let limit_bytes = platform.config.code_bytes;
    let entry = platform.outbound.fetch_text(tenant, parsed.as_str(), limit_bytes).await;
    let entry = entry.map_err(|source| Error::Fetch { url: url.to_owned(), source })?;
    let base = Url::parse(&entry.url).map_err(|_| Error::expected("component_url", "an address"))?;
    let filename = filename.unwrap_or_else(|| last_segment(&base));
    let files = beside(tenant, platform, &base, &entry.text).await?;
    Ok(ComponentSource { filename, source: entry.text, files })
}

/// The files that are required from `text`, directly or by one another, by their path from the entry's folder.
async fn beside(
    tenant: &Tenant,
    platform: &Platform,
    base: &Url,
    text: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let mut files = BTreeMap::new();
    let mut tried: HashSet<Url> = HashSet::from([base.clone()]);
    let mut waiting: VecDeque<(Url, String)> = relative_literals(text).map(|path| (base.clone(), path)).collect();
    let mut left_bytes = platform.config.code_bytes.saturating_sub(text.len());
    while let Some((from, path)) = waiting.pop_front() {
        for candidate in candidates(&from, &path) {
            if candidate.origin() != base.origin() || !tried.insert(candidate.clone()) {
                continue;
            }
            if tried.len() > ATTEMPTS_MAXIMUM || files.len() >= FILES_MAXIMUM {
                return Err(Error::expected("component_url", "a component of at most 50 files"));
            }
            let Some(found) = fetch(tenant, platform, &candidate, left_bytes).await? else {
                continue;
            };
            left_bytes = left_bytes.saturating_sub(found.text.len());
            waiting.extend(relative_literals(&found.text).map(|path| (candidate.clone(), path)));
            let relative = base.make_relative(&candidate).unwrap_or_else(|| last_segment(&candidate));
            files.insert(relative, found.text);
            break;
        }
    }
    Ok(files)
}

/// None when there is no such file.
async fn fetch(tenant: &Tenant, platform: &Platform, url: &Url, limit_bytes: usize) -> Result<Option<Fetched>, Error> {
    match platform.outbound.fetch_text(tenant, url.as_str(), limit_bytes).await {
        Ok(found) => Ok(Some(found)),
        Err(OutboundError::Status { .. } | OutboundError::NotText) => Ok(None),
        Err(OutboundError::TooLarge { .. }) => {
            let limit_bytes = platform.config.code_bytes;
            Err(Error::parameter("component_url", ParameterError::Beyond { limit_bytes }))
        }
        Err(source) => Err(Error::Fetch { url: url.to_string(), source }),
    }
}

/// As Node looks a file up: the name as it is, then with each extension, then the index of a folder.
fn candidates(from: &Url, path: &str) -> Vec<Url> {
    let has_extension = EXTENSIONS.iter().any(|extension| path.ends_with(extension));
    let names = match has_extension {
        true => vec![path.to_owned()],
        false => [".js", ".mjs", ".ts", "/index.js"].map(|ending| format!("{path}{ending}")).to_vec(),
    };
    names.iter().filter_map(|name| from.join(name).ok()).collect()
}

fn relative_literals(text: &str) -> impl Iterator<Item = String> {
    /// Longer than any path; a quote without its pair is skipped over.
    const PATH_BYTES: usize = 256;
    let starts = text.match_indices(['"', '\'', '`']);
    let literals = starts.filter_map(|(start, quote)| {
        let rest = text.get(start + 1..)?;
        let is_relative = rest.starts_with("./") || rest.starts_with("../");
        let end = rest.find(quote).filter(|end| is_relative && *end <= PATH_BYTES)?;
        rest.get(..end).filter(|path| !path.contains(['\n', ' ', '$', '?', '#', '\\'])).map(str::to_owned)
    });
    // The first hundred literals are more than any component requires.
    literals.take(100).collect::<Vec<_>>().into_iter()
}

fn last_segment(url: &Url) -> String {
    let last = url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    let is_script = EXTENSIONS.iter().any(|extension| last.ends_with(extension));
    if is_script { last.to_owned() } else { "component.js".to_owned() }
}

#[cfg(test)]
mod tests;
