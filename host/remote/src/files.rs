//! A component of several files: the entry and everything it refers to by a relative path, or by a `#name` of its manifest.
//!
//! References are looked for without parsing (`references.rs`). Of one that is computed, files come along whose path begins as it says
//! (`folders.rs`); the server tells of one that says too little.
//! The nearest `package.json` comes along with its lock file (`manifest.rs`), and with TypeScript what `tsconfig.json` says about
//! decorators (`tsconfig.rs`).

mod folders;
mod imports;
mod manifest;
mod references;
mod tsconfig;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::Error;
use manifest::Manifest;
use references::references;

/// More is a project, not a component; the server has its own bounds.
const FILES_MAXIMUM: usize = 200;
const BYTES_MAXIMUM: usize = 4 << 20;
/// What may stand for what is written, in Node's order.
const ENDINGS: [&str; 11] =
    ["", ".js", ".mjs", ".cjs", ".ts", ".mts", ".json", "/index.js", "/index.mjs", "/index.ts", "/index.json"];

/// A component as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    pub filename: String,
    pub code: String,
    /// By path from the entry's folder.
    pub files: BTreeMap<String, String>,
}

/// Files that are being looked through.
struct Collecting<'f> {
    folder: &'f Path,
    filename: String,
    files: BTreeMap<String, String>,
    size: usize,
    /// Each with the folder it is in, from the entry's.
    open: Vec<(PathBuf, String)>,
}

/// Reads the entry and what it refers to.
pub fn collect(entry: &Path) -> Result<Collected, Error> {
    let code = read(entry)?;
    let folder = entry.parent().unwrap_or(Path::new(""));
    let filename = entry.file_name().map_or_else(|| "component.js".to_owned(), |name| name.to_string_lossy().into());
    let manifest = Manifest::find(folder)?;
    let (size, open) = (code.len(), vec![(PathBuf::new(), code.clone())]);
    let mut collecting = Collecting { folder, filename, files: BTreeMap::new(), size, open };
    let mut used = BTreeSet::new();
    while let Some((from, text)) = collecting.open.pop() {
        for reference in references(&text) {
            let Some(manifest) = manifest.as_ref().filter(|_| reference.starts_with('#')) else {
                collecting.take(resolve(folder, &from, &reference))?;
                continue;
            };
            for path in manifest.files_of(&reference) {
                collecting.take(resolve(folder, &path, ""))?;
            }
            used.insert(reference);
        }
        for (path, is_whole) in references::computed(&text) {
            let paths = match is_whole {
                true => resolve(folder, &from, &path).into_iter().collect(),
                false => folders::below(folder, &from, &path),
            };
            for path in paths {
                collecting.take(Some(path))?;
            }
        }
    }
    let Collecting { filename, mut files, .. } = collecting;
    let sent = manifest.map(|manifest| manifest.sent(&files, &used));
    let config = tsconfig::sent(folder, &filename, &files)?;
    files.extend(sent.unwrap_or_default());
    if let Some((path, text)) = config {
        files.entry(path).or_insert(text);
    }
    Ok(Collected { filename, code, files })
}

// === impl Collecting ===

impl Collecting<'_> {
    /// Reads a file, unless it was read before.
    fn take(&mut self, path: Option<PathBuf>) -> Result<(), Error> {
        let Some(path) = path else { return Ok(()) };
        let key = path.to_string_lossy().into_owned();
        if self.files.contains_key(&key) || key == self.filename {
            return Ok(());
        }
        let text = read(&self.folder.join(&path))?;
        self.size += text.len();
        if self.files.len() >= FILES_MAXIMUM {
            return Err(Error::TooLarge { what: "files", limit: FILES_MAXIMUM });
        }
        if self.size > BYTES_MAXIMUM {
            return Err(Error::TooLarge { what: "bytes", limit: BYTES_MAXIMUM });
        }
        self.files.insert(key, text.clone());
        self.open.push((path.parent().unwrap_or(Path::new("")).to_owned(), text));
        Ok(())
    }
}

// === impl Collected ===

impl Collected {
    /// As the API takes it, in `components` as in `sources`.
    pub fn to_body(&self) -> Value {
        Value::Object(self.to_fields())
    }

    pub fn to_fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("component_code".to_owned(), json!(self.code));
        fields.insert("filename".to_owned(), json!(self.filename));
        if !self.files.is_empty() {
            fields.insert("component_files".to_owned(), json!(self.files));
        }
        fields
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })
}

/// The file that `reference`, written in a file of the folder `from`, stands for; by its path from the entry's folder.
fn resolve(folder: &Path, from: &Path, reference: &str) -> Option<PathBuf> {
    let written = normalize(&from.join(reference));
    // `.`, `..` and what ends in a slash are folders.
    let is_folder = matches!(reference.rsplit('/').next(), Some("" | "." | "..")) && !reference.is_empty();
    let candidates = ENDINGS.iter().filter_map(|ending| match ending.strip_prefix('/') {
        Some(index) => Some(written.join(index)),
        None => (!is_folder).then(|| PathBuf::from(format!("{}{ending}", written.display()))),
    });
    // TypeScript writes `./x.js` for what is `./x.ts` on disk.
    let typescript = written.extension().is_some_and(|ending| ending == "js").then(|| written.with_extension("ts"));
    candidates.chain(typescript).find(|path| folder.join(path).is_file())
}

/// `a/../b` is `b`; what leads above the beginning stays.
fn normalize(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(parts.last(), Some(Component::Normal(_))) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.into_iter().collect()
}

#[cfg(test)]
mod tests;
