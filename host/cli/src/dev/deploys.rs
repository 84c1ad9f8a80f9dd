//! The sources that `dev` has deployed, and updating them when files change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use remote::models::Source;
use remote::{Client, Collected, Error, Output, collect};
use serde_json::{Map, Value, json};

/// More in one folder is a project; deploying all of it would take minutes.
const COMPONENTS_MAXIMUM: usize = 50;

pub(super) struct Deploys {
    client: Client,
    path: PathBuf,
    props: Map<String, Value>,
    known: BTreeMap<PathBuf, Known>,
}

/// A component that was read, and the source made of it when that went well.
struct Known {
    collected: Collected,
    source: Option<Deployed>,
}

/// A source that this run has made or taken over.
#[derive(Clone)]
pub(super) struct Deployed {
    pub(super) id: String,
    pub(super) name: String,
    /// What its hooks emitted is shown too.
    pub(super) is_new: bool,
}

// === impl Deploys ===

impl Deploys {
    pub(super) fn new(client: Client, path: PathBuf, props: Map<String, Value>) -> Self {
        Self { client, path, props, known: BTreeMap::new() }
    }

    /// Deploys what is new or has changed since; the sources that are to be followed from now on.
    pub(super) async fn bring_up_to_date(&mut self, output: &Output) -> Result<Vec<Deployed>> {
        let mut to_follow = Vec::new();
        for entry in entries(&self.path)? {
            let collected = match collect(&entry) {
                Ok(collected) => collected,
                Err(error) => {
                    complain(output, &entry, &error);
                    continue;
                }
            };
            let before = self.known.get(&entry);
            if before.is_some_and(|known| known.collected == collected) {
                continue;
            }
            let source = before.and_then(|known| known.source.clone());
            let is_first = source.is_none();
            let source = match self.deploy(&entry, &collected, source.clone()).await {
                Ok((deployed, shown)) => {
                    announce(output, &deployed, &shown);
                    if is_first {
                        to_follow.push(deployed.clone());
                    }
                    Some(deployed)
                }
                Err(error) => {
                    complain(output, &entry, &error);
                    source
                }
            };
            self.known.insert(entry, Known { collected, source });
        }
        Ok(to_follow)
    }

    async fn deploy(
        &self,
        entry: &Path,
        collected: &Collected,
        source: Option<Deployed>,
    ) -> Result<(Deployed, Source), Error> {
        let name = name_of(entry);
        let mut body = collected.to_body();
        if let Some(fields) = body.as_object_mut() {
            fields.insert("name".to_owned(), json!(name));
            if !self.props.is_empty() {
                fields.insert("configured_props".to_owned(), json!(self.props));
            }
        }
        let before = match source {
            Some(source) => Some(source.id),
            None => self.find(&name).await?,
        };
        let (shown, is_new): (Source, bool) = match before {
            Some(id) => (self.client.put(&format!("sources/{id}"), &body).await?, false),
            None => (self.client.post("sources", &body).await?, true),
        };
        Ok((Deployed { id: shown.id.clone(), name, is_new }, shown))
    }

    /// A source that an earlier `dev` left.
    async fn find(&self, name: &str) -> Result<Option<String>, Error> {
        let sources: Vec<Source> = self.client.all("users/me/sources").await?;
        Ok(sources.into_iter().find(|source| source.name == name).map(|source| source.id))
    }
}

/// The file itself, or the files of a folder that can be components. App files are part of components.
fn entries(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))? {
        let entry = entry?.path();
        if entry.is_file() && is_component(&entry) {
            entries.push(entry);
        }
    }
    if entries.len() > COMPONENTS_MAXIMUM {
        bail!("{} holds {} components, and {COMPONENTS_MAXIMUM} are too many", path.display(), entries.len());
    }
    entries.sort();
    Ok(entries)
}

fn is_component(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let is_code = matches!(ending, "js" | "mjs" | "cjs" | "ts" | "mts" | "cts");
    is_code && !name.starts_with('.') && ![".app", ".d", ".test", ".config"].iter().any(|part| stem.ends_with(part))
}

/// `dev-` tells it from what was deployed to stay.
fn name_of(entry: &Path) -> String {
    let stem = entry.file_stem().map_or_else(|| "component".into(), |stem| stem.to_string_lossy());
    format!("dev-{stem}")
}

fn announce(output: &Output, deployed: &Deployed, source: &Source) {
    let verb = if deployed.is_new { "deployed" } else { "updated" };
    output.say(&format!("{verb} {} ({})", deployed.name, deployed.id));
    let endpoints = source.configured_props.values().filter_map(|value| value.get("endpoint_url")?.as_str());
    for endpoint in endpoints {
        output.say(&format!("  {endpoint}"));
    }
}

/// Told, and then waited for the next save.
fn complain(output: &Output, entry: &Path, error: &Error) {
    output.warn(&format!("{} was not deployed: {error}", entry.display()));
    let Error::Refused { details, .. } = error else {
        return;
    };
    let number = |name: &str| details.get(name).and_then(Value::as_u64);
    if let (Some(file), Some(line)) = (details.get("file").and_then(Value::as_str), number("line")) {
        output.hint(&format!("{file}:{line}:{}", number("column").unwrap_or(1)));
    }
    if let Some(stack) = details.get("stack").and_then(Value::as_str) {
        output.say(stack);
    }
}

#[cfg(test)]
mod tests;
