//! Which packages the component asks for, and the folder each lies in.
//!
//! A package that is asked for in one way lies under its own name, so that others' peer dependencies
//! find it. Only where the component asks for two versions does the second get a folder like
//! `axios@0.21.1`, which is an alias in npm's sense.

use std::collections::BTreeMap;

use crate::{manifest::OwnManifest, specifier::PackageSpecifier};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Requirements {
    /// From folder to what a manifest would say.
    pub(crate) required: BTreeMap<String, String>,
    pub(crate) optional: BTreeMap<String, String>,
    folders: BTreeMap<(String, Option<String>), String>,
}

const ANY: &str = "*";

// === impl Requirements ===

impl Requirements {
    /// Each request with whether the component can do without it. A request without a range is for what the manifest says.
    pub(crate) fn new(requests: &[(PackageSpecifier, bool)], manifest: &OwnManifest) -> Self {
        let mut ranges: BTreeMap<&str, BTreeMap<Option<&str>, bool>> = BTreeMap::new();
        for (request, is_optional) in requests {
            let all_optional = ranges.entry(&request.name).or_default().entry(request.range.as_deref()).or_insert(true);
            *all_optional &= is_optional;
        }
        let mut requirements = Self::default();
        for (name, ranges) in ranges {
            // Without a range comes first, and takes the plain name.
            for (position, (range, is_optional)) in ranges.into_iter().enumerate() {
                let text = range.or_else(|| manifest.range_of(name)).unwrap_or(ANY);
                requirements.add((name, range), text, is_optional, position == 0);
            }
        }
        requirements
    }

    fn add(&mut self, (name, range): (&str, Option<&str>), text: &str, is_optional: bool, is_plain: bool) {
        let (folder, spec) = if is_plain {
            (name.to_owned(), text.to_owned())
        } else {
            (format!("{name}@{text}"), format!("npm:{name}@{text}"))
        };
        let list = if is_optional { &mut self.optional } else { &mut self.required };
        list.insert(folder.clone(), spec);
        self.folders.insert((name.to_owned(), range.map(str::to_owned)), folder);
    }

    /// What to look for in `node_modules` when the component writes `request`.
    pub(crate) fn path_of(&self, request: &PackageSpecifier) -> String {
        let key = (request.name.clone(), request.range.clone());
        let folder = self.folders.get(&key).unwrap_or(&request.name);
        format!("{folder}{}", request.subpath)
    }

    /// Names with their ranges, of both kinds.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &String)> {
        self.required.iter().chain(&self.optional)
    }
}

#[cfg(test)]
mod tests;
