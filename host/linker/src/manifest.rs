//! The `package.json` and the lock file that a component brings along: the versions its author works with.
//!
//! The nearest `package.json` at or above the entry says which range a package without one is wanted in, and, as in Node,
//! whether `.js` files are ES modules. The `package-lock.json` beside it says which versions were installed: those are
//! preferred wherever they fit, as `npm install` does, and must have the checksums that the lock file says.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    entry::{OWN_FOLDER, OwnFiles},
    error::LinkError,
    registry::Manifest,
    tree::Plan,
};

/// What a component's author has written down about its packages; nothing, for most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnManifest {
    /// From a package to its range.
    ranges: BTreeMap<String, String>,
    /// From a package to the versions that were installed, each with its checksum.
    locked: BTreeMap<String, BTreeMap<String, String>>,
}

const MANIFEST: &str = "package.json";
const LOCKS: [&str; 2] = ["package-lock.json", "npm-shrinkwrap.json"];

/// The parts that count. What is needed only to develop counts too: components are often written with everything there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PackageJson {
    dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    peer_dependencies: BTreeMap<String, String>,
    dev_dependencies: BTreeMap<String, String>,
}

/// Versions 2 and 3 have `packages`, by location; version 1 has `dependencies`, as a tree.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LockFile {
    packages: BTreeMap<String, LockedPackage>,
    dependencies: BTreeMap<String, LockedTree>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LockedPackage {
    /// Of an alias, whose location has another name.
    name: Option<String>,
    version: String,
    integrity: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LockedTree {
    version: String,
    integrity: String,
    dependencies: BTreeMap<String, LockedTree>,
}

// === impl OwnManifest ===

impl OwnManifest {
    pub(crate) fn find(own: &OwnFiles) -> Result<Self, LinkError> {
        let mut folder = own.entry.as_str();
        while let Some((parent, _)) = folder.rsplit_once('/').filter(|(parent, _)| parent.starts_with(OWN_FOLDER)) {
            folder = parent;
            let path = format!("{folder}/{MANIFEST}");
            if let Some(text) = own.files.get(&path) {
                let manifest: PackageJson = read(&path, text)?;
                let locks = LOCKS.iter().map(|name| format!("{folder}/{name}"));
                let lock = locks.into_iter().find_map(|path| Some((own.files.get(&path)?, path)));
                let lock = lock.map(|(text, path)| read::<LockFile>(&path, text)).transpose()?;
                return Ok(Self { ranges: manifest.ranges(), locked: lock.unwrap_or_default().versions() });
            }
        }
        Ok(Self::default())
    }

    /// What a package is wanted in when the code says no range.
    pub(crate) fn range_of(&self, package: &str) -> Option<&str> {
        self.ranges.get(package).map(String::as_str)
    }

    /// The versions of a package that were installed.
    pub(crate) fn locked(&self, package: &str) -> Vec<String> {
        self.locked.get(package).into_iter().flat_map(|versions| versions.keys().cloned()).collect()
    }

    /// What is about to be fetched is what was installed, wherever the same version was.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), LinkError> {
        for Manifest { name, version, dist, .. } in plan.packages.iter().map(|package| &*package.manifest) {
            let locked = self.locked.get(name).and_then(|versions| versions.get(version));
            // Either side may have another kind of checksum; only the same kind can be compared.
            let is_other = locked.is_some_and(|locked| {
                let kind = |text: &str| text.split('-').next().unwrap_or_default().to_owned();
                !dist.integrity.is_empty() && kind(locked) == kind(&dist.integrity) && *locked != dist.integrity
            });
            if is_other {
                return Err(LinkError::LockMismatch { package: format!("{name}@{version}") });
            }
        }
        Ok(())
    }
}

// === impl PackageJson ===

impl PackageJson {
    fn ranges(self) -> BTreeMap<String, String> {
        let mut ranges = self.dev_dependencies;
        // The later count more.
        ranges.extend(self.peer_dependencies);
        ranges.extend(self.optional_dependencies);
        ranges.extend(self.dependencies);
        ranges
    }
}

// === impl LockFile ===

impl LockFile {
    fn versions(self) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut versions: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let mut note = |name: &str, version: String, integrity: String| {
            if !version.is_empty() {
                versions.entry(name.to_owned()).or_default().insert(version, integrity);
            }
        };
        let is_new = !self.packages.is_empty();
        for (location, LockedPackage { name, version, integrity }) in self.packages {
            // The project itself and its workspaces lie elsewhere.
            if let Some((_, of_location)) = location.rsplit_once("node_modules/") {
                note(name.as_deref().unwrap_or(of_location), version, integrity);
            }
        }
        let mut open: Vec<(String, LockedTree)> =
            if is_new { Vec::new() } else { self.dependencies.into_iter().collect() };
        while let Some((name, LockedTree { version, integrity, dependencies })) = open.pop() {
            note(&name, version, integrity);
            open.extend(dependencies);
        }
        versions
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &str, text: &[u8]) -> Result<T, LinkError> {
    serde_json::from_slice(text).map_err(|error| LinkError::Syntax {
        path: path.to_owned(),
        line: error.line() as u32,
        column: error.column() as u32,
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests;
