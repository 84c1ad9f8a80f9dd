//! A component's own files, and where they lie in the virtual file system.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::error::LinkError;

/// What is to be linked.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// A relative path whose extension tells the language, for example `new-issue.js`.
    pub filename: String,
    pub source: String,
    /// Further files, by their path relative to the folder of the entry (`../github.app.js`).
    pub files: BTreeMap<String, String>,
}

/// The folder of everything that is the component's own. Packages lie beside it, in `/node_modules`,
/// where both the component and Node's rules find them.
pub(crate) const OWN_FOLDER: &str = "/component";

/// The name of a folder above the entry when the upload did not include it.
pub(crate) const UNNAMED_FOLDER: &str = "parent";

const EXTENSIONS: [&str; 7] = ["js", "mjs", "cjs", "ts", "mts", "cts", "json"];

#[derive(Debug)]
pub(crate) struct OwnFiles {
    pub(crate) entry: String,
    pub(crate) files: BTreeMap<String, Bytes>,
}

// === impl Entry ===

impl Entry {
    pub(crate) fn lay_out(&self) -> Result<OwnFiles, LinkError> {
        let folders = parts_of(&self.filename)?;
        let (name, folders) = folders.split_last().ok_or_else(|| invalid(&self.filename))?;
        let has_extension =
            name.rsplit_once('.').is_some_and(|(stem, extension)| !stem.is_empty() && EXTENSIONS.contains(&extension));
        if folders.contains(&"..") || !has_extension {
            return Err(invalid(&self.filename));
        }
        let mut paths = Vec::new();
        for path in self.files.keys() {
            paths.push((path, normalize(parts_of(path)?)));
        }
        let ups = |parts: &[&str]| parts.iter().take_while(|part| **part == "..").count();
        let highest = paths.iter().map(|(_, parts)| ups(parts)).max().unwrap_or(0);
        let unnamed = highest.saturating_sub(folders.len());
        let mut home: Vec<&str> = std::iter::repeat_n(UNNAMED_FOLDER, unnamed).collect();
        home.extend(folders);

        let absolute =
            |parts: Vec<&str>| format!("{OWN_FOLDER}/{}", normalize([home.as_slice(), &parts].concat()).join("/"));
        let entry = absolute(vec![name]);
        let mut files = BTreeMap::new();
        for (path, parts) in paths {
            let content = self.files.get(path).cloned().unwrap_or_default();
            files.insert(absolute(parts), Bytes::from(content));
        }
        files.insert(entry.clone(), Bytes::from(self.source.clone()));
        Ok(OwnFiles { entry, files })
    }
}

fn invalid(filename: &str) -> LinkError {
    LinkError::InvalidFilename { filename: filename.to_owned() }
}

fn parts_of(path: &str) -> Result<Vec<&str>, LinkError> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let is_bad = path.starts_with('/') || path.contains(['\\', '\0']) || parts.contains(&"node_modules");
    if is_bad || parts.last().is_none_or(|name| *name == "..") {
        return Err(invalid(path));
    }
    Ok(parts)
}

/// `a/../b` is `b`; what leads above the beginning stays.
fn normalize(parts: Vec<&str>) -> Vec<&str> {
    let mut result: Vec<&str> = Vec::new();
    for part in parts {
        if part == ".." && result.last().is_some_and(|last| *last != "..") {
            result.pop();
        } else {
            result.push(part);
        }
    }
    result
}

#[cfg(test)]
mod tests;
