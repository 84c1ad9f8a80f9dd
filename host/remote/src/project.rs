//! A folder of components and workflows, and `wellspring.toml`, which says how each is deployed: for `apply`, `dev` and `test`.
//!
//! Every file of the folder that can be a component or a workflow is one. The file needs no entry for a component that needs no props:
//!
//! ```toml
//! project = "shop"                      # the folder's name when absent
//!
//! [sources.orders]                      # orders.js, orders.ts…; another file with `code`
//! props = { currency = "EUR", every = "15m" }
//!
//! [sources.orders.props]
//! token = { secret = "ORDERS_TOKEN" }   # from `.secrets.env`, or the environment
//! slack = { account = "Work" }
//!
//! [profiles.production.sources.orders.props]
//! currency = "USD"                      # with `--profile production`
//! ```

mod secrets;
mod workflows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::documents;
use crate::error::Error;
use crate::models::Prop;
use crate::props::parse_value;
use crate::suggest::suggest;

pub use secrets::Secrets;
pub use workflows::WorkflowEntry;

pub const FILE: &str = "wellspring.toml";
/// The project of what `dev` deploys.
pub const DEV: &str = "dev";
/// More in one folder is a mistake, such as a folder of packages.
const COMPONENTS_MAXIMUM: usize = 200;

/// A folder as it is to be deployed.
#[derive(Clone, Debug)]
pub struct Project {
    pub name: String,
    /// Not one file of it alone: what is not among the entries is not in the folder either.
    pub is_whole: bool,
    pub secrets: Secrets,
    /// By the names of their sources.
    pub entries: Vec<Entry>,
    pub workflows: Vec<WorkflowEntry>,
}

/// One source that there is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its table in the file is `[sources.KEY]`.
    pub key: String,
    /// What the source is called, and what finds it again.
    pub name: String,
    pub path: PathBuf,
    pub is_active: bool,
    props: BTreeMap<String, toml::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    project: Option<String>,
    /// Relative to the folder.
    secrets: Option<PathBuf>,
    /// Files that are no components.
    #[serde(default)]
    exclude: Vec<PathBuf>,
    #[serde(default)]
    sources: BTreeMap<String, FileEntry>,
    #[serde(default)]
    workflows: BTreeMap<String, workflows::FileEntry>,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    code: Option<PathBuf>,
    name: Option<String>,
    active: Option<bool>,
    #[serde(default)]
    props: BTreeMap<String, toml::Value>,
}

/// What is different for one login.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    secrets: Option<PathBuf>,
    #[serde(default)]
    sources: BTreeMap<String, FileEntry>,
    #[serde(default)]
    workflows: BTreeMap<String, workflows::FileEntry>,
}

// === impl Project ===

impl Project {
    /// Of a folder, or of one file in it.
    pub fn read(path: &Path, profile: Option<&str>) -> Result<Self, Error> {
        let there = std::fs::metadata(path);
        let there = there.map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
        let is_folder = there.is_dir();
        let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
        let file = read_file(folder)?;
        let chosen = profile.and_then(|name| file.profiles.get(name));
        let secrets = chosen.and_then(|profile| profile.secrets.as_deref()).or(file.secrets.as_deref());
        let secrets = Secrets::read(folder, secrets, profile)?;
        let secrets = secrets.with_environment(|name| std::env::var(name).ok(), &secret_names(&file));
        let name = file.project.clone().unwrap_or_else(|| folder_name(folder));
        let (mut files, mut documents) = match (is_folder, documents::is_workflow(path)) {
            (true, _) => (component_files(folder)?, workflows::files_of(folder)?),
            (false, true) => (Vec::new(), vec![path.to_owned()]),
            (false, false) => (vec![path.to_owned()], Vec::new()),
        };
        let is_wanted = |path: &PathBuf| !file.exclude.iter().any(|excluded| *path == folder.join(excluded));
        files.retain(is_wanted);
        documents.retain(is_wanted);
        let of_workflows = workflows::merged(&file.workflows, chosen.map(|profile| &profile.workflows));
        let workflows = workflows::entries(folder, &documents, &of_workflows)?;
        let parts: Vec<PathBuf> = documents.iter().flat_map(|path| documents::step_files(path)).collect();
        let configured = merged(&file.sources, chosen);
        let mut entries = Vec::new();
        for (key, entry) in &configured {
            let path = code_of(folder, key, entry)?;
            if is_folder || files.contains(&path) {
                entries.push(Entry::new(key, path, entry));
            }
        }
        let is_configured = |path: &PathBuf| entries.iter().any(|entry: &Entry| entry.path == *path);
        let others: Vec<Entry> = files
            .iter()
            .filter(|path| !is_configured(path) && !parts.contains(path))
            .map(|path| Entry::plain(path))
            .collect();
        entries.extend(others);
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        check_names(folder, &entries)?;
        Ok(Self { name, is_whole: is_folder, secrets, entries, workflows })
    }
}

// === impl Entry ===

impl Entry {
    fn new(key: &str, path: PathBuf, entry: &FileEntry) -> Self {
        let name = entry.name.clone().unwrap_or_else(|| key.to_owned());
        Self { key: key.to_owned(), name, path, is_active: entry.active.unwrap_or(true), props: entry.props.clone() }
    }

    fn plain(path: &Path) -> Self {
        Self::new(&stem(path), path.to_owned(), &FileEntry::default())
    }

    /// The values for the props that the component declares; accounts are still names.
    pub fn values(&self, props: &[Prop], secrets: &Secrets) -> Result<Map<String, Value>, Error> {
        let mut values = Map::new();
        for (name, value) in &self.props {
            let prop = props.iter().find(|prop| prop.name == *name).ok_or_else(|| Error::UnknownProp {
                name: name.clone(),
                suggestions: suggest(name, props.iter().map(|prop| prop.name.as_str())),
            })?;
            values.insert(name.clone(), self.value(prop, value, secrets)?);
        }
        Ok(values)
    }

    fn value(&self, prop: &Prop, value: &toml::Value, secrets: &Secrets) -> Result<Value, Error> {
        // The value of an object prop may look like a reference, and is none.
        if let (Some((kind, name)), false) = (reference(value), prop.kind == "object") {
            return match kind {
                Reference::Account => Ok(Value::from(name)),
                Reference::Secret => typed(prop, secrets.get(name, &prop.name)?),
            };
        }
        match value {
            toml::Value::String(text) => typed(prop, text),
            other => Ok(to_json(other)),
        }
    }
}

/// Every secret that the file refers to.
fn secret_names(file: &File) -> Vec<String> {
    let profiles = file.profiles.values().flat_map(|profile| profile.sources.values());
    let values = file.sources.values().chain(profiles).flat_map(|entry| entry.props.values());
    let of_workflows = file.profiles.values().map(|profile| &profile.workflows).chain([&file.workflows]);
    let values = values.chain(of_workflows.flat_map(workflows::values));
    let names = values.filter_map(|value| match reference(value) {
        Some((Reference::Secret, name)) => Some(name.to_owned()),
        _ => None,
    });
    names.collect()
}

enum Reference {
    Secret,
    Account,
}

/// `{ secret = "NAME" }` and `{ account = "Name" }`.
fn reference(value: &toml::Value) -> Option<(Reference, &str)> {
    let table = value.as_table().filter(|table| table.len() == 1)?;
    let (key, value) = table.iter().next()?;
    match key.as_str() {
        "secret" => Some((Reference::Secret, value.as_str()?)),
        "account" => Some((Reference::Account, value.as_str()?)),
        _ => None,
    }
}

/// A text for a timer is `15m` or a cron expression, as on the command line; for a list or a number it is read as there.
fn typed(prop: &Prop, text: &str) -> Result<Value, Error> {
    match prop.kind.as_str() {
        "string" | "app" | "any" => Ok(Value::from(text)),
        _ => parse_value(prop, text),
    }
}

fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Datetime(time) => Value::from(time.to_string()),
        toml::Value::Array(items) => items.iter().map(to_json).collect(),
        toml::Value::Table(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), to_json(value))).collect())
        }
    }
}

fn read_file(folder: &Path) -> Result<File, Error> {
    let path = folder.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(source) => return Err(Error::File { verb: "read", path, source }),
    };
    toml::from_str(&text).map_err(|error| Error::Project { path, problem: error.to_string().trim_end().to_owned() })
}

/// The entries with those of the profile laid over them, prop by prop.
fn merged(sources: &BTreeMap<String, FileEntry>, profile: Option<&Profile>) -> BTreeMap<String, FileEntry> {
    let mut merged = sources.clone();
    for (key, over) in profile.iter().flat_map(|profile| &profile.sources) {
        let entry = merged.entry(key.clone()).or_default();
        entry.code = over.code.clone().or(entry.code.take());
        entry.name = over.name.clone().or(entry.name.take());
        entry.active = over.active.or(entry.active);
        entry.props.extend(over.props.clone());
    }
    merged
}

/// The file of an entry: the one that it names, or the one that it is named after.
fn code_of(folder: &Path, key: &str, entry: &FileEntry) -> Result<PathBuf, Error> {
    if let Some(code) = &entry.code {
        let path = folder.join(code);
        return match path.is_file() {
            true => Ok(path),
            false => Err(problem(folder, format!("[sources.{key}]: there is no file {}", code.display()))),
        };
    }
    let candidates = ENDINGS.iter().map(|ending| folder.join(format!("{key}.{ending}")));
    let missing = || problem(folder, format!("[sources.{key}]: there is no file {key}.js; name one with `code`"));
    candidates.into_iter().find(|path| path.is_file()).ok_or_else(missing)
}

fn check_names(folder: &Path, entries: &[Entry]) -> Result<(), Error> {
    let twice = entries.iter().zip(entries.iter().skip(1)).find(|(one, other)| one.name == other.name);
    match twice {
        Some((one, other)) => {
            let files = format!("{} and {}", one.path.display(), other.path.display());
            Err(problem(folder, format!("two sources are called {}: {files}", one.name)))
        }
        None => Ok(()),
    }
}

fn problem(folder: &Path, problem: String) -> Error {
    Error::Project { path: folder.join(FILE), problem }
}

fn folder_name(folder: &Path) -> String {
    // Of a file that was named without a folder.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    whole.file_name().map_or_else(|| "project".to_owned(), |name| name.to_string_lossy().into_owned())
}

const ENDINGS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];

/// The files of a folder that can be components, in the order of their names.
fn component_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::File { verb: "read", path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() && is_component(&path) {
            files.push(path);
        }
    }
    if files.len() > COMPONENTS_MAXIMUM {
        return Err(Error::TooLarge { what: "components", limit: COMPONENTS_MAXIMUM });
    }
    files.sort();
    Ok(files)
}

/// Parts of components (apps, common code), types, tests and settings of tools are none.
pub fn is_component(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let is_part = [".app", ".d", ".test", ".config", ".common"].iter().any(|part| stem.ends_with(part));
    ENDINGS.contains(&ending) && !name.starts_with(['.', '_']) && !is_part
}

pub fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "component".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
