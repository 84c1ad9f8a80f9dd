//! The workflows of a folder: documents in YAML or JSON, and what `wellspring.toml` says of them.
//!
//! ```toml
//! [workflows.orders]                    # orders.yaml; another file with `file`
//! active = false
//!
//! [workflows.orders.steps.notify.props]
//! token = { secret = "TOKEN" }
//! slack = { account = "Work" }
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Reference, Secrets, problem, reference, stem, to_json};
use crate::client::Client;
use crate::documents;
use crate::error::Error;
use crate::find;
use crate::models::Account;

const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// One workflow that there is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowEntry {
    /// What the workflow is called, and what finds it again.
    pub name: String,
    pub path: PathBuf,
    pub is_active: bool,
    /// By step.
    steps: BTreeMap<String, StepEntry>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEntry {
    file: Option<PathBuf>,
    name: Option<String>,
    active: Option<bool>,
    #[serde(default)]
    steps: BTreeMap<String, StepEntry>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepEntry {
    #[serde(default)]
    props: BTreeMap<String, toml::Value>,
}

// === impl WorkflowEntry ===

impl WorkflowEntry {
    fn new(path: PathBuf, entry: &FileEntry) -> Self {
        let (name, is_active) = documents::outline(&path);
        let name = entry.name.clone().unwrap_or(name);
        Self { name, path, is_active: entry.active.unwrap_or(is_active), steps: entry.steps.clone() }
    }

    /// The document with the props that the project gives its steps. Sources of triggers are still names.
    #[boxed]
    pub async fn document(&self, client: &Client, secrets: &Secrets) -> Result<Value, Error> {
        let mut document = documents::read(&self.path)?;
        if let Some(settings) = document.get_mut("settings").and_then(Value::as_object_mut) {
            settings.insert("name".to_owned(), json!(self.name));
        }
        let values = self.steps.values().flat_map(|step| step.props.values());
        let needs_accounts = values.into_iter().any(|value| matches!(reference(value), Some((Reference::Account, _))));
        let accounts: Vec<Account> = if needs_accounts { client.all("users/me/accounts").await? } else { Vec::new() };
        for (namespace, step) in &self.steps {
            let mut props = Map::new();
            for (name, value) in &step.props {
                props.insert(name.clone(), valued(name, value, secrets, &accounts)?);
            }
            if !documents::give_props(&mut document, namespace, &props) {
                let problem = format!("wellspring.toml gives props to a step {namespace}, and there is none");
                return Err(Error::Project { path: self.path.clone(), problem });
            }
        }
        Ok(document)
    }
}

fn valued(name: &str, value: &toml::Value, secrets: &Secrets, accounts: &[Account]) -> Result<Value, Error> {
    match reference(value) {
        Some((Reference::Secret, secret)) => Ok(json!(secrets.get(secret, name)?)),
        Some((Reference::Account, account)) => {
            Ok(json!({"authProvisionId": find::pick(accounts.to_vec(), account)?.id}))
        }
        None => Ok(to_json(value)),
    }
}

/// The workflows among `files`, with those that are configured.
pub(super) fn entries(
    folder: &Path,
    files: &[PathBuf],
    configured: &BTreeMap<String, FileEntry>,
) -> Result<Vec<WorkflowEntry>, Error> {
    let mut entries = Vec::new();
    for (key, entry) in configured {
        let path = file_of(folder, key, entry)?;
        if files.contains(&path) {
            entries.push(WorkflowEntry::new(path, entry));
        }
    }
    let is_configured = |path: &PathBuf| entries.iter().any(|entry: &WorkflowEntry| entry.path == *path);
    let others: Vec<WorkflowEntry> = files
        .iter()
        .filter(|path| !is_configured(path))
        .map(|path| WorkflowEntry::new(path.clone(), &FileEntry::default()))
        .collect();
    entries.extend(others);
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let twice = entries.iter().zip(entries.iter().skip(1)).find(|(one, other)| one.name == other.name);
    match twice {
        Some((one, other)) => {
            let files = format!("{} and {}", one.path.display(), other.path.display());
            Err(problem(folder, format!("two workflows are called {}: {files}", one.name)))
        }
        None => Ok(entries),
    }
}

fn file_of(folder: &Path, key: &str, entry: &FileEntry) -> Result<PathBuf, Error> {
    let candidates: Vec<PathBuf> = match &entry.file {
        Some(file) => vec![folder.join(file)],
        None => ENDINGS.iter().map(|ending| folder.join(format!("{key}.{ending}"))).collect(),
    };
    let missing = || problem(folder, format!("[workflows.{key}]: there is no file {key}.yaml; name one with `file`"));
    candidates.into_iter().find(|path| documents::is_workflow(path)).ok_or_else(missing)
}

/// What the profile says, laid over the rest.
pub(super) fn merged(
    workflows: &BTreeMap<String, FileEntry>,
    over: Option<&BTreeMap<String, FileEntry>>,
) -> BTreeMap<String, FileEntry> {
    let mut merged = workflows.clone();
    for (key, over) in over.into_iter().flatten() {
        let entry = merged.entry(key.clone()).or_default();
        entry.file = over.file.clone().or(entry.file.take());
        entry.name = over.name.clone().or(entry.name.take());
        entry.active = over.active.or(entry.active);
        for (step, given) in &over.steps {
            entry.steps.entry(step.clone()).or_default().props.extend(given.props.clone());
        }
    }
    merged
}

/// Every value that is given to a step.
pub(super) fn values(workflows: &BTreeMap<String, FileEntry>) -> impl Iterator<Item = &toml::Value> {
    let steps = workflows.values().flat_map(|workflow| workflow.steps.values());
    steps.flat_map(|step| step.props.values())
}

/// The documents of a folder, in the order of their names.
pub(super) fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::File { verb: "read", path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if documents::is_workflow(&path) {
            files.push(path);
        }
    }
    files.sort_by_key(|path| stem(path));
    Ok(files)
}
