//! A component of several files: the entry and everything it refers to by a relative path.
//!
//! References are looked for without parsing (`references.rs`). One that is computed is not found, and the server says so.
//! The nearest `package.json` comes along with its lock file (`manifest.rs`).

mod manifest;
mod references;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::error::Error;
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

/// Reads the entry and what it refers to.
pub fn collect(entry: &Path) -> Result<Collected, Error> {
    let code = read(entry)?;
    let folder = entry.parent().unwrap_or(Path::new(""));
    let filename = entry.file_name().map_or_else(|| "component.js".to_owned(), |name| name.to_string_lossy().into());
    let mut files = BTreeMap::new();
    let mut size = code.len();
    let mut open = vec![(PathBuf::new(), code.clone())];
    while let Some((from, text)) = open.pop() {
        for reference in references(&text) {
            let Some(path) = resolve(folder, &from, &reference) else { continue };
            let key = path.to_string_lossy().into_owned();
            if files.contains_key(&key) || key == filename {
                continue;
            }
            let text = read(&folder.join(&path))?;
            size += text.len();
            if files.len() >= FILES_MAXIMUM {
                return Err(Error::TooLarge { what: "files", limit: FILES_MAXIMUM });
            }
            if size > BYTES_MAXIMUM {
                return Err(Error::TooLarge { what: "bytes", limit: BYTES_MAXIMUM });
            }
            files.insert(key, text.clone());
            open.push((path.parent().unwrap_or(Path::new("")).to_owned(), text));
        }
    }
    let manifest = manifest::collect(folder, &files)?;
    files.extend(manifest);
    Ok(Collected { filename, code, files })
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
    let candidates = ENDINGS.iter().map(|ending| PathBuf::from(format!("{}{ending}", written.display())));
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
