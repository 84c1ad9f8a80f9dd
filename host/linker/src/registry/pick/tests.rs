//! Which version is chosen, and that ranges mean what they mean to npm.

use std::process::Command;

use serde_json::{Value, json};

use super::{Spec, Wanted, satisfies};
use crate::registry::Packument;

fn packument(versions: &[(&str, Value)], tags: &[(&str, &str)]) -> Packument {
    let versions: serde_json::Map<String, Value> =
        versions.iter().map(|(version, manifest)| ((*version).to_owned(), manifest.clone())).collect();
    let tags: serde_json::Map<String, Value> =
        tags.iter().map(|(tag, version)| ((*tag).to_owned(), json!(version))).collect();
    Packument::parse(json!({ "name": "a", "dist-tags": tags, "versions": versions }).to_string().as_bytes()).unwrap()
}

fn pick(packument: &Packument, text: &str) -> Option<String> {
    Wanted::parse(text).unwrap().pick(packument, "22.20.0").map(|manifest| manifest.version.clone())
}

#[test]
fn tags_versions_and_ranges_choose_as_npm_does() {
    let none = json!({});
    let versions = [
        ("1.0.0", none.clone()),
        ("1.1.0", none.clone()),
        ("1.2.0", json!({ "deprecated": "broken" })),
        ("2.0.0", none.clone()),
        ("2.1.0", json!({ "engines": { "node": ">=99" } })),
        ("3.0.0-beta.1", none.clone()),
        ("3.0.0", none),
    ];
    let packument = packument(&versions, &[("latest", "2.0.0"), ("next", "3.0.0-beta.1")]);
    let cases = [
        ("*", Some("2.0.0")),
        ("", Some("2.0.0")),
        ("latest", Some("2.0.0")),
        ("next", Some("3.0.0-beta.1")),
        (">=1", Some("2.0.0")),
        ("^1", Some("1.1.0")),
        ("1.x", Some("1.1.0")),
        ("~1.2.0", Some("1.2.0")),
        ("1.2.0", Some("1.2.0")),
        ("=1.2.0", Some("1.2.0")),
        ("v1.2.0", Some("1.2.0")),
        ("^2.1", Some("2.1.0")),
        ("^2 || ^3", Some("2.0.0")),
        ("^3", Some("3.0.0")),
        ("^3.0.0-0", Some("3.0.0")),
        ("^4", None),
        ("9.9.9", None),
        ("unknown", None),
    ];
    for (text, expected) in cases {
        assert_eq!(pick(&packument, text).as_deref(), expected, "{text}");
    }
}

#[test]
fn aliases_and_foreign_sources_are_understood() {
    let spec = |text: &str| Spec::parse("a", text).map(|spec| (spec.package, spec.wanted));
    assert_eq!(spec("npm:b@^1"), Some(("b".to_owned(), Wanted::Range("^1".to_owned()))));
    assert_eq!(spec("npm:@c/d@1.0.0"), Some(("@c/d".to_owned(), Wanted::Exact("1.0.0".to_owned()))));
    assert_eq!(spec("npm:@c/d"), Some(("@c/d".to_owned(), Wanted::Range("*".to_owned()))));
    for text in [
        "git+https://x.test/y.git",
        "github:a/b",
        "a/b",
        "file:../x",
        "http://x.test/a.tgz",
        "link:x",
        "workspace:*",
        "git@x.test:a/b.git",
    ] {
        assert_eq!(spec(text), None, "{text}");
    }
}

#[test]
fn close_versions_are_named() {
    let none = || json!({});
    let packument = packument(
        &[("1.0.0", none()), ("1.4.0", none()), ("2.0.0", none()), ("3.0.0-rc", none())],
        &[("latest", "2.0.0")],
    );
    for (text, expected) in [
        ("1.3.9", vec!["1.0.0", "1.4.0", "2.0.0"]),
        ("^9", vec!["2.0.0"]),
        ("1.5", vec!["1.4.0", "2.0.0"]),
        ("tag", vec!["1.0.0", "2.0.0"]),
    ] {
        assert_eq!(Wanted::parse(text).unwrap().close(&packument), expected, "{text}");
    }
}

/// npm comes with its own semver; both must agree.
#[test]
fn ranges_mean_what_they_mean_to_npm() {
    let ranges = [
        "*",
        "",
        "1",
        "1.2",
        "1.2.3",
        "=1.2.3",
        "v1.2.3",
        ">1",
        ">=1.2",
        "<2",
        "<=1.2",
        "~1",
        "~1.2",
        "~1.2.3",
        "^0",
        "^0.0",
        "^0.0.1",
        "^0.2.3",
        "^1.2",
        "1.x",
        "1.2.x",
        "1.2.*",
        "x",
        "1 - 2",
        "1.2 - 2.3.4",
        ">=1 <2",
        ">=1.0.0 <1.2.3 || >2",
        "^1 || ^2",
        "1||2",
        "~> 1.2",
        ">= 1.2",
        "< 2.0.0",
        "^ 1.2",
        "^1.2.3-beta.2",
        ">=1.2.3-alpha",
        "1.2.3-beta",
        "~1.2.3-beta.4",
        "<0.0.0-0",
        "^1.2.3+build",
        "latest",
        "not a range",
    ];
    let versions = [
        "0.0.0",
        "0.0.1",
        "0.0.2",
        "0.2.3",
        "0.3.0",
        "1.0.0",
        "1.2.2",
        "1.2.3-alpha",
        "1.2.3-beta",
        "1.2.3-beta.2",
        "1.2.3-beta.10",
        "1.2.3",
        "1.2.4-beta",
        "1.2.4",
        "1.3.0",
        "2.0.0-rc.1",
        "2.0.0",
        "2.3.4",
        "2.3.5",
        "3.0.0",
    ];
    let script = "const path = require('path').join(process.argv[1], 'node_modules/npm/node_modules/semver'); const semver = require(path); \
                  const [ranges, versions] = JSON.parse(process.argv[2]); \
                  console.log(JSON.stringify(ranges.map((range) => versions.filter((version) => semver.satisfies(version, range, { loose: true })))))";
    let text = |output: std::process::Output| String::from_utf8(output.stdout).unwrap();
    let root = text(Command::new("npm").args(["root", "-g"]).output().expect("this test needs npm"));
    let root = root.trim().strip_suffix("node_modules").unwrap().to_owned();
    let input = json!([ranges.to_vec(), versions.to_vec()]).to_string();
    let output = text(Command::new("node").args(["-e", script, &root, &input]).output().unwrap());
    let expected: Vec<Vec<String>> = serde_json::from_str(&output).unwrap();

    for (range, expected) in ranges.iter().zip(expected) {
        let range_text = if range.is_empty() { "*" } else { range };
        let actual: Vec<&str> = versions.iter().copied().filter(|version| satisfies(version, range_text)).collect();
        assert_eq!(actual, expected, "{range:?}");
    }
}
