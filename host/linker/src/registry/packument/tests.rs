//! What registries really send.

use serde_json::{Value, json};

use super::Packument;

fn manifest(version: &Value) -> std::sync::Arc<super::Manifest> {
    let packument = json!({ "name": "a", "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": version } });
    Packument::parse(packument.to_string().as_bytes()).unwrap().manifest("1.0.0").unwrap()
}

#[test]
fn mistakes_of_decades_are_put_up_with() {
    let manifest = manifest(&json!({
        "dependencies": { "good": "^1", "bad": 7, "worse": {} },
        "optionalDependencies": [],
        "peerDependencies": null,
        "peerDependenciesMeta": "none",
        "engines": "node >= 0.4",
        "bundleDependencies": {},
        "os": "linux",
        "deprecated": false,
        "dist": { "tarball": "https://a.test/a.tgz", "shasum": "a9993e364706816aba3e25717850c26c9cd0d89d" },
    }));

    assert_eq!(manifest.dependencies.iter().collect::<Vec<_>>(), [(&"good".to_owned(), &"^1".to_owned())]);
    assert!(manifest.optional_dependencies.is_empty() && manifest.peer_dependencies.is_empty());
    assert_eq!(manifest.engines.node, "");
    assert!(!manifest.is_deprecated() && !manifest.bundles("x") && !manifest.is_for_other_platforms());
    assert_eq!(manifest.integrity(), "sha1-qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
}

#[test]
fn a_dependency_that_is_optional_is_only_optional() {
    let manifest = manifest(&json!({ "dependencies": { "a": "1", "b": "1" }, "optionalDependencies": { "b": "1" } }));

    assert_eq!(manifest.dependencies.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn both_spellings_of_bundled_are_known() {
    for (manifest, expected) in [
        (json!({ "bundleDependencies": ["a"] }), true),
        (json!({ "bundledDependencies": ["a"] }), true),
        (json!({ "bundleDependencies": true }), true),
        (json!({ "bundleDependencies": ["b"] }), false),
        (json!({ "bundleDependencies": false }), false),
    ] {
        assert_eq!(super::tests::manifest(&manifest).bundles("a"), expected, "{manifest}");
    }
}

#[test]
fn binaries_for_machines_are_told_from_code() {
    for (manifest, expected) in [
        (json!({ "os": ["darwin"] }), true),
        (json!({ "os": ["linux"], "cpu": ["x64"] }), true),
        (json!({ "os": ["!win32"] }), false),
        (json!({ "os": ["darwin", "linux"] }), false),
        (json!({ "os": ["!linux"] }), true),
        (json!({ "cpu": ["any"], "os": ["any"] }), false),
        (json!({ "cpu": ["!arm"] }), false),
        (json!({}), false),
    ] {
        assert_eq!(super::tests::manifest(&manifest).is_for_other_platforms(), expected, "{manifest}");
    }
}
