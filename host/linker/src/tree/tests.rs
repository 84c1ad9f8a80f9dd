//! Trees that npm makes, in small.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Packuments, Planned, plan};
use crate::{
    registry::Packument,
    requirements::Requirements,
    specifier::{PackageSpecifier, Specifier},
};

/// `name@version` with its entry in the packument.
pub(super) fn packuments(packages: &[(&str, Value)]) -> Packuments {
    let mut packuments = serde_json::Map::new();
    for (label, manifest) in packages {
        let (name, version) = label.rsplit_once('@').unwrap();
        let packument = packuments
            .entry(name.to_owned())
            .or_insert_with(|| json!({ "name": name, "dist-tags": {}, "versions": {} }));
        packument["versions"][version] = manifest.clone();
        packument["dist-tags"]["latest"] = json!(version);
    }
    packuments
        .into_iter()
        .map(|(name, packument)| (name, Packument::parse(packument.to_string().as_bytes()).map(Arc::new)))
        .collect()
}

pub(super) fn requirements(texts: &[&str]) -> Requirements {
    let request = |text: &&str| match Specifier::parse(text) {
        Ok(Specifier::Package(request)) => (request, false),
        other => panic!("{other:?}"),
    };
    Requirements::new(&texts.iter().map(request).collect::<Vec<(PackageSpecifier, bool)>>(), &Default::default())
}

fn tree(requires: &[&str], packages: &[(&str, Value)]) -> Vec<String> {
    match plan(&requirements(requires), &packuments(packages), "22.20.0", 100).unwrap() {
        Planned::Done(plan) => plan
            .packages
            .iter()
            .map(|package| format!("{}@{}", package.location.replace("node_modules/", ""), package.manifest.version))
            .collect(),
        Planned::Need(names) => panic!("needs {names:?}"),
    }
}

fn on(dependencies: &[(&str, &str)]) -> Value {
    json!({ "dependencies": dependencies.iter().map(|(name, range)| ((*name).to_owned(), json!(range))).collect::<serde_json::Map<_, _>>() })
}

#[test]
fn packages_lie_as_shallow_as_they_can() {
    let none = || json!({});
    let packages =
        [("a@1.0.0", on(&[("c", "^1")])), ("b@1.0.0", on(&[("c", "^2")])), ("c@1.0.0", none()), ("c@2.0.0", none())];

    assert_eq!(tree(&["a", "b"], &packages), ["a@1.0.0", "b@1.0.0", "b/c@2.0.0", "c@1.0.0"]);
    assert_eq!(tree(&["a", "b", "c"], &packages), ["a@1.0.0", "a/c@1.0.0", "b@1.0.0", "c@2.0.0"]);
}

#[test]
fn a_newer_version_replaces_one_when_it_satisfies_every_dependent() {
    let packages = [
        ("a@1.0.0", on(&[("c", "1.0.0 || 1.1.0")])),
        ("b@1.0.0", on(&[("c", "1.1.0")])),
        ("c@1.0.0", json!({})),
        ("c@1.1.0", json!({})),
        ("c@9.0.0", json!({})),
    ];
    assert_eq!(tree(&["a", "b"], &packages), ["a@1.0.0", "b@1.0.0", "c@1.1.0"]);
}

#[test]
fn what_would_be_hidden_from_others_is_nested() {
    // b and d under a want different versions of c; neither may hide the other's.
    let packages = [
        ("a@1.0.0", on(&[("b", "1"), ("d", "1")])),
        ("b@1.0.0", on(&[("c", "^1")])),
        ("d@1.0.0", on(&[("c", "^2"), ("e", "1")])),
        ("e@1.0.0", on(&[("c", "^1")])),
        ("c@1.0.0", json!({})),
        ("c@2.0.0", json!({})),
    ];
    assert_eq!(tree(&["a"], &packages), ["a@1.0.0", "b@1.0.0", "c@1.0.0", "d@1.0.0", "d/c@2.0.0", "e@1.0.0"]);
}

#[test]
fn peers_lie_beside_whom_they_serve() {
    let peer = json!({ "peerDependencies": { "host": "^1" } });
    let packages = [
        ("plugin@1.0.0", peer),
        ("app@1.0.0", on(&[("plugin", "1"), ("host", "^1")])),
        ("host@1.0.0", json!({})),
        ("host@2.0.0", json!({})),
    ];
    assert_eq!(tree(&["plugin"], &packages), ["host@1.0.0", "plugin@1.0.0"]);
    assert_eq!(tree(&["app", "host@2"], &packages), ["app@1.0.0", "app/host@1.0.0", "app/plugin@1.0.0", "host@2.0.0"]);
}

#[test]
fn circles_of_versions_come_to_an_end() {
    let packages = [
        ("a@1.0.0", on(&[("b", "1")])),
        ("b@1.0.0", on(&[("a", "2")])),
        ("a@2.0.0", on(&[("b", "2")])),
        ("b@2.0.0", on(&[("a", "1")])),
    ];
    let tree = tree(&["a@1"], &packages);

    assert_eq!(tree, ["a@1.0.0", "b@1.0.0", "b/a@2.0.0", "b/b@2.0.0", "b/b/a@1.0.0"]);
}

#[test]
fn a_package_that_the_peers_of_its_own_dependency_replace_leaves_nothing_behind() {
    let peer = json!({ "peerDependencies": { "host": "^1" } });
    let new_host = json!({ "dependencies": { "x": "^1" }, "optionalDependencies": { "plugin": "1" } });
    let packages = [
        ("host@1.0.0", on(&[("x", "^1")])),
        ("host@2.0.0", new_host),
        ("plugin@1.0.0", peer),
        ("x@1.0.0", json!({})),
        ("x@2.0.0", json!({})),
    ];

    assert_eq!(tree(&["x", "host"], &packages), ["host@1.0.0", "host/x@1.0.0", "x@2.0.0"]);
}

#[test]
fn missing_packuments_are_asked_for() {
    let packuments = packuments(&[("a@1.0.0", on(&[("b", "1"), ("c", "1")]))]);

    match plan(&requirements(&["a"]), &packuments, "22.20.0", 100).unwrap() {
        Planned::Need(names) => assert_eq!(names.into_iter().collect::<Vec<_>>(), ["b", "c"]),
        Planned::Done(plan) => panic!("{plan:?}"),
    }
}

/// `c` is settled before a version of `a` that conflicts takes the place of the one it found.
#[test]
fn a_package_whose_dependency_was_replaced_gets_another() {
    let optional = |of: (&str, &str), manifest: Value| {
        let mut manifest = manifest;
        manifest["optionalDependencies"] = json!({ of.0: of.1 });
        manifest
    };
    let peer = |of: (&str, &str)| json!({ "peerDependencies": { of.0: of.1 } });
    let known = [
        ("a@2.0.0", on(&[("@s/e", "^1")])),
        ("a@3.0.0-beta.1", peer(("c", "~1.0"))),
        ("b@1.0.0", optional(("@s/f", "^1"), on(&[("@s/e", "~1.0")]))),
        ("b@2.0.0", peer(("b", "~1.0"))),
        ("c@1.0.0", on(&[("a", "^2")])),
        ("d@1.1.0", on(&[("a", "^2")])),
        ("@s/e@1.1.0", optional(("b", "^2"), on(&[("d", "1.1.0")]))),
        ("@s/e@3.0.0-beta.1", peer(("b", "1 || 2"))),
        ("@s/f@1.1.0", optional(("a", "latest"), json!({}))),
    ];
    let labels: Vec<String> = ["a", "b", "c", "d", "@s/e", "@s/f"]
        .iter()
        .flat_map(|name| ["1.0.0", "1.1.0", "2.0.0", "3.0.0-beta.1"].map(|version| format!("{name}@{version}")))
        .collect();
    let manifest =
        |label: &str| known.iter().find(|(known, _)| *known == label).map_or(json!({}), |known| known.1.clone());
    let packages: Vec<(&str, Value)> = labels.iter().map(|label| (label.as_str(), manifest(label))).collect();

    let tree = tree(&["c", "@s/e"], &packages);

    assert!(tree.iter().any(|package| package == "a@2.0.0" || package == "c/a@2.0.0"), "{tree:?}");
}
