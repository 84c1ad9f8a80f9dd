//! What `dev` knows of a component's file: what it tried, what came of it, and what there is of it on the server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use remote::models::Prop;
use remote::project::{DEV, Entry, Secrets};
use remote::{Client, Collected, Error, Output};
use serde_json::{Map, Value};

use super::deploys::Changed;
use super::failures::{Failure, Wake};
use super::made::{Made, One};
use super::outside;
use super::places::Places;

/// What paths of the API begin with.
pub(super) const SOURCES: &str = "sources/";

/// A component of the folder.
#[derive(Default)]
pub(super) struct Known {
    pub(super) tried: Option<Tried>,
    pub(super) failure: Option<Failure>,
    pub(super) source: Option<Deployed>,
}

/// What was read, and with which values.
pub(super) struct Tried {
    collected: Collected,
    entry: Entry,
    declared: Vec<Prop>,
    values: Result<Map<String, Value>, String>,
}

/// A source or workflow that this run has made or taken over.
#[derive(Clone)]
pub(super) struct Deployed {
    /// Of the API: `sources/dc_…`.
    pub(super) path: String,
    pub(super) name: String,
    /// What its hooks emitted is shown too.
    pub(super) is_new: bool,
    pub(super) is_followed: bool,
    pub(super) places: Places,
}

// === impl Known ===

impl Known {
    /// Whether this was tried, with the same values.
    pub(super) fn is_same(&self, collected: &Collected, entry: &Entry, secrets: &Secrets) -> bool {
        self.tried.as_ref().is_some_and(|tried| {
            tried.collected == *collected
                && tried.entry == *entry
                && tried.values == values(entry, &tried.declared, secrets)
        })
    }

    pub(super) fn is_due(&self, wake: Wake) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.is_due(wake))
    }

    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let files = |tried: &Tried| outside::files_of(&tried.entry.path, &tried.collected);
        self.tried.as_ref().map(files).unwrap_or_default()
    }
}

// === impl Tried ===

impl Tried {
    /// `declared` is empty when the component could not be loaded: then no value decides.
    pub(super) fn new(collected: Collected, entry: &Entry, declared: Vec<Prop>, secrets: &Secrets) -> Self {
        let values = values(entry, &declared, secrets);
        Self { collected, entry: entry.clone(), declared, values }
    }
}

// === impl Deployed ===

impl Deployed {
    /// Left by an earlier `dev`.
    pub(super) fn earlier(path: &str, name: &str) -> Self {
        let (path, name) = (path.to_owned(), name.to_owned());
        Self { path, name, is_new: false, is_followed: false, places: Places::default() }
    }
}

fn values(entry: &Entry, declared: &[Prop], secrets: &Secrets) -> Result<Map<String, Value>, String> {
    entry.values(declared, secrets).map_err(|error| error.to_string())
}

/// What the server has, none when it is gone.
#[expect(clippy::result_large_err, reason = "the error of the client, once for each deploy")]
pub(super) fn there<T>(answered: Result<T, Error>) -> Result<Option<T>, Error> {
    match answered {
        Ok(there) => Ok(Some(there)),
        Err(Error::Refused { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// From now on it is `deployed` that the file stands for.
pub(super) fn keep(
    slot: &mut Option<Deployed>,
    deployed: Deployed,
    file: &Path,
    (made, changed): (&mut Made, &mut Changed),
) -> anyhow::Result<()> {
    let before = slot.take();
    let is_followed = before.as_ref().is_some_and(|before| before.path == deployed.path && before.is_followed);
    if !is_followed {
        changed.follow.push(deployed.clone());
    }
    let one = One { path: deployed.path.clone(), name: deployed.name.clone(), file: file.to_owned() };
    let before = before.filter(|before| before.path != deployed.path);
    *slot = Some(Deployed { is_followed: true, ..deployed });
    if let Some(before) = before {
        made.forget(&before.path)?;
        changed.forget.push(before.path);
    }
    made.note(one)
}

/// Deletes a source or workflow, if it is still of `dev`.
pub(super) async fn remove(client: &Client, output: &Output, made: &mut Made, deployed: &Deployed, reason: &str) {
    let name = &deployed.name;
    match delete(client, &deployed.path).await {
        Ok(true) => output.say(&format!("removed {name}: {reason}")),
        Ok(false) => {}
        // The next `dev` tries again.
        Err(error) => return output.warn(&format!("{name} was not removed: {error}")),
    }
    if let Err(error) = made.forget(&deployed.path) {
        output.warn(&format!("{error:#}"));
    }
}

async fn delete(client: &Client, path: &str) -> Result<bool, Error> {
    let found: Option<Value> = there(client.get(path).await)?;
    let is_own = found.is_some_and(|found| found.get("project").and_then(Value::as_str) == Some(DEV));
    let query: &[(&str, &str)] = if path.starts_with(SOURCES) { &[("ignore_hook_errors", "true")] } else { &[] };
    if is_own {
        client.delete(path, query).await?;
    }
    Ok(is_own)
}
