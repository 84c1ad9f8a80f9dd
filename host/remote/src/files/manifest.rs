//! The `package.json` of a component and what its lock file says about versions.
//!
//! It is looked for from the entry's folder upwards, as Node does, to the root of the work tree or the home folder: what
//! lies above is not the component's. Only the parts are sent that decide about versions, `#names` and the kind of `.js`
//! files: a manifest may hold more about its project than a server should learn, and a lock file megabytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use super::imports;
use crate::error::Error;

const MANIFEST: &str = "package.json";
const LOCKS: [&str; 2] = ["package-lock.json", "npm-shrinkwrap.json"];
const IMPORTS: &str = "imports";
const PARTS: [&str; 6] =
    ["type", IMPORTS, "dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];
/// Deeper is no project.
const FOLDERS_MAXIMUM: usize = 16;
/// What a server calls a folder above the entry whose name it does not know.
const UNNAMED_FOLDER: &str = "parent/";

/// Of the component that is collected.
pub(super) struct Manifest {
    parts: Map<String, Value>,
    locks: Vec<(&'static str, Value)>,
    /// From its folder to that of the entry.
    below: Vec<String>,
}

// === impl Manifest ===

impl Manifest {
    /// The nearest one, if there is something in it that matters.
    pub(super) fn find(folder: &Path) -> Result<Option<Self>, Error> {
        let Some((path, below)) = nearest(folder, MANIFEST) else { return Ok(None) };
        let Some(parts) = parts_of(&read(&path)?) else { return Ok(None) };
        let mut locks = Vec::new();
        for (name, lock) in LOCKS.map(|name| (name, path.with_file_name(name))) {
            if lock.is_file() {
                locks.push((name, versions_of(&read(&lock)?)));
            }
        }
        Ok(Some(Self { parts, locks, below }))
    }

    /// The files that a `#name` may stand for, by path from the entry's folder.
    pub(super) fn files_of(&self, name: &str) -> Vec<PathBuf> {
        let Some((target, matched)) = self.target_of(name) else { return Vec::new() };
        imports::paths(target, matched).iter().map(|path| self.seen_from_entry(path)).collect()
    }

    /// What is sent, by path from the entry's folder. A manifest that lies above all of the component's files is sent as if
    /// it lay beside the topmost of them: it counts for the same files there, and their paths stay short. `used` are the
    /// `#names` in those files.
    pub(super) fn sent(
        mut self,
        others: &BTreeMap<String, String>,
        used: &BTreeSet<String>,
    ) -> BTreeMap<String, String> {
        let highest = others.keys().map(|path| ups(path)).max().unwrap_or(0);
        let depth = self.below.len().min(highest);
        if !self.below.is_empty() {
            self.move_imports(depth, used);
        }
        let prefix = "../".repeat(depth);
        let parts = Value::Object(self.parts).to_string();
        let locks = self.locks.iter().map(|(name, versions)| (format!("{prefix}{name}"), versions.to_string()));
        locks.chain([(format!("{prefix}{MANIFEST}"), parts)]).collect()
    }

    /// Says where the server has the files of `#names`: in folders that have other names there.
    fn move_imports(&mut self, depth: usize, used: &BTreeSet<String>) {
        let moved = |path: &str| {
            let path = self.seen_from_entry(path).to_string_lossy().into_owned();
            let down = UNNAMED_FOLDER.repeat(depth.saturating_sub(ups(&path)));
            format!("./{down}{}", path.trim_start_matches("../"))
        };
        let moves = used.iter().filter_map(|name| {
            let (target, matched) = self.target_of(name)?;
            Some((name.clone(), imports::with_paths(target, matched, &moved)))
        });
        let moves: Vec<(String, Value)> = moves.collect();
        if let Some(imports) = self.parts.get_mut(IMPORTS).and_then(Value::as_object_mut) {
            imports.extend(moves);
        }
    }

    fn target_of<'s>(&self, name: &'s str) -> Option<(&Value, &'s str)> {
        imports::entry_for(self.parts.get(IMPORTS)?.as_object()?, name)
    }

    /// `path` is from the folder of the manifest.
    fn seen_from_entry(&self, path: &str) -> PathBuf {
        let path = names(&super::normalize(Path::new(path)));
        let shared = path.iter().zip(&self.below).take_while(|(one, other)| one == other).count();
        let up = std::iter::repeat_n("..", self.below.len() - shared);
        up.chain(path.iter().skip(shared).map(String::as_str)).collect()
    }
}

/// The nearest file of this name at or above a folder, and the folders from its own down to that.
pub(super) fn nearest(folder: &Path, name: &str) -> Option<(PathBuf, Vec<String>)> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    for above in whole.ancestors().take(FOLDERS_MAXIMUM) {
        let path = above.join(name);
        if path.is_file() {
            return Some((path, whole.strip_prefix(above).map(names).unwrap_or_default()));
        }
        if above.join(".git").exists() || home.as_deref() == Some(above) {
            return None;
        }
    }
    None
}

fn names(path: &Path) -> Vec<String> {
    let name = |part: Component<'_>| part.as_os_str().to_string_lossy().into_owned();
    path.components().filter(|part| *part != Component::CurDir).map(name).collect()
}

pub(super) fn ups(path: &str) -> usize {
    path.split('/').take_while(|part| *part == "..").count()
}

fn read(path: &Path) -> Result<Value, Error> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Error::File { verb: "read", path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| Error::NotJson { path: path.to_owned(), source })
}

/// None when there is nothing in it that matters here.
fn parts_of(manifest: &Value) -> Option<Map<String, Value>> {
    let fields = manifest.as_object()?;
    let kept: Map<String, Value> =
        PARTS.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone()))).collect();
    (!kept.is_empty()).then_some(kept)
}

/// Names, versions and checksums.
fn versions_of(lock: &Value) -> Value {
    let slim = |package: &Value| {
        let fields = ["name", "version", "integrity"].into_iter();
        let kept = fields.filter_map(|name| Some((name.to_owned(), package.get(name)?.clone())));
        Value::Object(kept.collect())
    };
    match lock.get("packages").and_then(Value::as_object) {
        Some(packages) => {
            let installed = packages.iter().filter(|(location, _)| location.contains("node_modules/"));
            let packages: Map<String, Value> =
                installed.map(|(location, package)| (location.clone(), slim(package))).collect();
            json!({"packages": packages})
        }
        None => json!({"dependencies": lock.get("dependencies").cloned().unwrap_or_default()}),
    }
}
