//! Files that a computed `require` can mean: those below the folder that it names.

use std::collections::BTreeMap;

use super::is_own;
use crate::{
    entry::OWN_FOLDER,
    modules::{RequestKind, Shape},
    volume::{Resolver, Volume},
};

/// More is the whole of a package, and not what one of its files picks from.
const FILES_MAXIMUM: usize = 500;
const BYTES_MAXIMUM: usize = 1 << 20;
/// What the guest finds by a path without it.
const FOUND_AT_RUN_TIME: [&str; 3] = [".js", ".json", ".cjs"];
const OTHERS: [&str; 4] = [".mjs", ".ts", ".mts", ".cts"];
const MANIFESTS: [&str; 4] = ["package.json", "package-lock.json", "npm-shrinkwrap.json", "tsconfig.json"];

#[derive(Debug, Default)]
pub(super) struct Meant {
    pub(super) files: Vec<String>,
    /// What is asked for, where the guest would not find the file by that path.
    pub(super) imports: BTreeMap<String, String>,
}

pub(super) fn meant(resolver: &Resolver, importer: &str, shape: &Shape) -> Meant {
    let mut meant = Meant::default();
    let folder = importer.rsplit_once('/').map_or("", |(folder, _)| folder);
    let Some(after) = &shape.after else {
        let found = resolver.resolve(importer, &shape.before, RequestKind::Require).ok();
        if let Some(file) = found.filter(|file| !file.ends_with(".node")) {
            meant.imports.insert(asked(folder, &shape.before, shape.is_absolute), file.clone());
            meant.files.push(file);
        }
        return meant;
    };
    let prefix = normalized(&format!("{folder}/{}", shape.before));
    let home = Volume::package_folder(importer).unwrap_or(OWN_FOLDER);
    // `./` alone could be anything that lies beside the file.
    let is_named = shape.before.contains(|letter| !matches!(letter, '.' | '/'));
    if !is_named || !prefix.starts_with(&format!("{home}/")) {
        return meant;
    }
    let mut size = 0;
    for (file, bytes) in resolver.volume().below(&prefix) {
        let rest = file.get(prefix.len()..).unwrap_or_default();
        let Some((stem, is_found)) = stem_of(rest, importer) else { continue };
        let is_other = file == importer || rest.contains("node_modules/");
        let is_manifest = MANIFESTS.iter().any(|name| file.ends_with(&format!("/{name}")));
        if is_other || is_manifest || !(rest.ends_with(after.as_str()) || stem.ends_with(after.as_str())) {
            continue;
        }
        size += bytes;
        if meant.files.len() >= FILES_MAXIMUM || size > BYTES_MAXIMUM {
            return Meant::default();
        }
        if !is_found {
            meant.imports.insert(asked(folder, &format!("{}{stem}", shape.before), shape.is_absolute), file.to_owned());
        }
        meant.files.push(file.to_owned());
    }
    meant
}

/// Without its ending, and whether the guest finds it so. None for what is no module.
fn stem_of<'r>(rest: &'r str, importer: &str) -> Option<(&'r str, bool)> {
    if rest.ends_with(".d.ts") {
        return None;
    }
    let ended = |endings: &[&str]| endings.iter().find_map(|ending| rest.strip_suffix(ending));
    match ended(&FOUND_AT_RUN_TIME) {
        Some(stem) => Some((stem, true)),
        None => ended(if is_own(importer) { &OTHERS } else { &[".mjs"] }).map(|stem| (stem, false)),
    }
}

/// As the guest is asked for it.
fn asked(folder: &str, relative: &str, is_absolute: bool) -> String {
    if is_absolute { normalized(&format!("{folder}/{relative}")) } else { relative.to_owned() }
}

/// Without `.` and `..`; a slash at the end stays.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    let end = if path.ends_with('/') { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

#[cfg(test)]
mod tests;
