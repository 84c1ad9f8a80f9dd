//! Packages that Wellspring replaces by its own, whatever the registry has under their names: packages that call the inside
//! of a service, which is another here, and packages whose sockets the platform's `fetch` can replace with the same result.
//!
//! They take part in planning like any other package, and every range is met by the one version there is.

use bytes::Bytes;

use super::{archive::Files, packument::Packument};

struct Substitute {
    name: &'static str,
    /// As the registry would give it.
    packument: &'static str,
    /// In place of a digest: the code is part of this program.
    integrity: &'static str,
    source: &'static str,
}

const SUBSTITUTES: [Substitute; 3] = [
    Substitute {
        name: "@pipedream/platform",
        packument: r#"{"name": "@pipedream/platform", "dist-tags": {"latest": "3.1.0"}, "versions": {"3.1.0": {
            "dependencies": {"axios": "^1.7.4"}, "dist": {"integrity": "built-in-@pipedream/platform"}}}}"#,
        integrity: "built-in-@pipedream/platform",
        source: PIPEDREAM_PLATFORM,
    },
    Substitute {
        name: "@pipedreamhq/platform",
        packument: r#"{"name": "@pipedreamhq/platform", "dist-tags": {"latest": "0.8.1"}, "versions": {"0.8.1": {
            "dependencies": {"axios": "^1.7.4"}, "dist": {"integrity": "built-in-@pipedreamhq/platform"}}}}"#,
        integrity: "built-in-@pipedreamhq/platform",
        source: PIPEDREAM_PLATFORM,
    },
    Substitute {
        name: "undici",
        packument: r#"{"name": "undici", "dist-tags": {"latest": "7.16.0"}, "versions": {"7.16.0": {
            "dist": {"integrity": "built-in-undici"}}}}"#,
        integrity: "built-in-undici",
        source: include_str!("substitutes/undici.js"),
    },
];

/// It has a name of today and a former one.
const PIPEDREAM_PLATFORM: &str = include_str!("substitutes/pipedream-platform.js");

const MANIFEST: &[u8] = br#"{"main": "index.js", "type": "commonjs"}"#;

pub(crate) fn is_substituted(name: &str) -> bool {
    SUBSTITUTES.iter().any(|substitute| substitute.name == name)
}

pub(crate) fn packument(name: &str) -> Option<Packument> {
    let substitute = SUBSTITUTES.iter().find(|substitute| substitute.name == name)?;
    Packument::parse(substitute.packument.as_bytes())
}

pub(crate) fn files(integrity: &str) -> Option<Files> {
    let substitute = SUBSTITUTES.iter().find(|substitute| substitute.integrity == integrity)?;
    let files = [("package.json", MANIFEST), ("index.js", substitute.source.as_bytes())];
    Some(files.into_iter().map(|(path, content)| (path.to_owned(), Bytes::from_static(content))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_substitute_is_a_package_as_the_registry_would_give_it() {
        for substitute in &SUBSTITUTES {
            let packument = packument(substitute.name).unwrap();
            let manifest = packument.manifest(&packument.tags["latest"]).unwrap();

            assert_eq!((packument.name.as_str(), manifest.integrity()), (substitute.name, substitute.integrity.into()));
            assert!(files(&manifest.integrity()).unwrap().contains_key("package.json"));
        }
    }
}
