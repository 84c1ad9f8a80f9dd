//! Which version of a package fits, chosen as npm chooses: a tag or an exact version means that one;
//! within a range the `latest` tag wins if it fits and runs here, then the newest that runs here and is
//! not deprecated.

use std::sync::Arc;

use nodejs_semver::{Range, Version};

use super::{
    packument::{Manifest, Packument},
    substitutes,
};
use crate::specifier::is_package_name;

/// What a dependency asks for, after its value in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// The package on the registry, which an alias (`npm:other@1`) may set apart from the folder's name.
    pub(crate) package: String,
    pub(crate) wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Exact(String),
    Range(String),
    Tag(String),
}

/// Versions named when the one asked for does not exist.
const CLOSE_COUNT: usize = 3;

// === impl Spec ===

impl Spec {
    /// `None` for what does not come from the registry (git, files, addresses, workspaces) or has no
    /// sound name.
    pub(crate) fn parse(name: &str, text: &str) -> Option<Self> {
        let mut spec = Self::parse_unchecked(name, text)?;
        if substitutes::is_substituted(&spec.package) {
            spec.wanted = Wanted::Range("*".to_owned());
        }
        let is_sound = is_package_name(name) && is_package_name(&spec.package);
        is_sound.then_some(spec)
    }

    fn parse_unchecked(name: &str, text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(alias) = text.strip_prefix("npm:") {
            let at = alias.get(1..).and_then(|rest| rest.find('@')).map(|at| at + 1);
            let (package, range) = at.and_then(|at| alias.split_at_checked(at)).unwrap_or((alias, ""));
            let wanted = Wanted::parse(range.trim_start_matches('@'))?;
            return Some(Self { package: package.to_owned(), wanted });
        }
        Some(Self { package: name.to_owned(), wanted: Wanted::parse(text)? })
    }

    /// Whether a package that is there already will do.
    pub(crate) fn fits(&self, package: &str, version: &str) -> bool {
        if self.package != package {
            return false;
        }
        match &self.wanted {
            Wanted::Exact(wanted) => wanted == version,
            // As npm: a star takes everything, pre-releases too.
            Wanted::Range(range) => range == "*" || satisfies(version, range),
            // As npm: a tag is met by whatever was chosen for it.
            Wanted::Tag(_) => true,
        }
    }
}

// === impl Wanted ===

impl Wanted {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = text.strip_prefix(['=', 'v']).unwrap_or(text).trim();
        if Version::parse(plain).is_ok() && !plain.contains(' ') {
            return Some(Self::Exact(plain.split('+').next().unwrap_or(plain).to_owned()));
        }
        if text.is_empty() || Range::parse(text).is_ok() {
            return Some(Self::Range(if text.is_empty() { "*".to_owned() } else { text.to_owned() }));
        }
        let is_tag = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._~".contains(letter));
        is_tag.then(|| Self::Tag(text.to_owned()))
    }

    pub(crate) fn pick(&self, packument: &Packument, node_version: &str) -> Option<Arc<Manifest>> {
        match self {
            Self::Exact(version) => packument.manifest(version),
            Self::Tag(tag) => packument.manifest(packument.tags.get(tag)?),
            Self::Range(range) => pick_in_range(packument, range, node_version),
        }
    }

    /// The nearest versions below and above what was asked for, and the latest.
    pub(crate) fn close(&self, packument: &Packument) -> Vec<String> {
        let text = match self {
            Self::Exact(text) | Self::Range(text) | Self::Tag(text) => text,
        };
        let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let numbers: Vec<u64> = digits.split(['.', '-', ' ']).map_while(|part| part.parse().ok()).collect();
        let [major, minor, patch] = [0, 1, 2].map(|at| numbers.get(at).copied().unwrap_or(0));
        let wanted = Version::from((major, minor, patch));
        let mut versions: Vec<Version> = packument.versions().filter_map(|text| Version::parse(text).ok()).collect();
        versions.retain(|version| !version.is_prerelease());
        versions.sort();
        let below = versions.iter().rev().find(|version| **version < wanted);
        let above = versions.iter().find(|version| **version > wanted);
        let near = below.into_iter().chain(above).map(ToString::to_string);
        let mut close: Vec<String> = near.chain(packument.tags.get("latest").cloned()).collect();
        close.dedup();
        close.truncate(CLOSE_COUNT);
        close
    }
}

pub(crate) fn satisfies(version: &str, range: &str) -> bool {
    match (Version::parse(version), Range::parse(range)) {
        (Ok(version), Ok(range)) => range.satisfies(&version),
        _ => false,
    }
}

fn pick_in_range(packument: &Packument, range_text: &str, node_version: &str) -> Option<Arc<Manifest>> {
    let range = Range::parse(range_text).ok()?;
    if let Some(preferred) = newest_preferred(packument, &range) {
        return Some(preferred);
    }
    if let Some(latest) = packument.tags.get("latest") {
        let fits = range_text == "*" || Version::parse(latest).is_ok_and(|version| range.satisfies(&version));
        let manifest = if fits { packument.manifest(latest) } else { None };
        if let Some(manifest) = manifest.filter(|manifest| !manifest.is_deprecated() && runs_on(manifest, node_version))
        {
            return Some(manifest);
        }
    }
    let versions = packument.versions().filter_map(|text| Some((Version::parse(text).ok()?, text)));
    let candidates = versions.filter(|(version, _)| range.satisfies(version));
    let ranked = candidates.filter_map(|(version, text)| {
        let manifest = packument.manifest(text)?;
        let (runs, kept) = (runs_on(&manifest, node_version), !manifest.is_deprecated());
        Some(((runs && kept, runs, kept, version), manifest))
    });
    ranked.max_by(|(left, _), (right, _)| left.cmp(right)).map(|(_, manifest)| manifest)
}

/// Of those that a lock file names, whatever else is known about them: they were installed once, and worked.
fn newest_preferred(packument: &Packument, range: &Range) -> Option<Arc<Manifest>> {
    let versions = packument.preferred().filter_map(|text| Some((Version::parse(text).ok()?, text)));
    let fitting = versions.filter(|(version, _)| range.satisfies(version));
    let (_, newest) = fitting.max_by(|(left, _), (right, _)| left.cmp(right))?;
    packument.manifest(newest)
}

fn runs_on(manifest: &Manifest, node_version: &str) -> bool {
    let engines = &manifest.engines.node;
    engines.is_empty() || Range::parse(engines).is_err() || satisfies(node_version, engines)
}

#[cfg(test)]
mod tests;
