//! What may come in, by `.deny.toml`: the part of `cargo deny check` that needs no further program, for every test run.
//! `tests/deny.sh` is cargo-deny itself: CI runs it, and the workflow on GitHub asks for advisories as well.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::toml;
use crate::generated::root;

fn packages(manifest: &str) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version=1", "--locked", "--manifest-path"]).arg(root().join(manifest));
    for target in toml(".deny.toml")["graph"]["targets"].as_array().unwrap() {
        command.args(["--filter-platform", target.as_str().unwrap()]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let used: BTreeSet<&str> =
        metadata["resolve"]["nodes"].as_array().unwrap().iter().map(|node| node["id"].as_str().unwrap()).collect();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.filter(|package| used.contains(package["id"].as_str().unwrap())).cloned().collect()
}

/// Whether the terms of an SPDX expression can be met with licences that are allowed: `A OR (B AND C)`.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "+WITH+");
    let mut tokens: Vec<&str> = spaced.split_whitespace().rev().collect();
    let is_met = any_of(&mut tokens, allowed);
    assert!(tokens.is_empty(), "{expression} is not an SPDX expression");
    is_met
}

fn any_of(tokens: &mut Vec<&str>, allowed: &BTreeSet<String>) -> bool {
    let mut is_met = all_of(tokens, allowed);
    while tokens.pop_if(|token| *token == "OR").is_some() {
        is_met |= all_of(tokens, allowed);
    }
    is_met
}

fn all_of(tokens: &mut Vec<&str>, allowed: &BTreeSet<String>) -> bool {
    let mut is_met = one(tokens, allowed);
    while tokens.pop_if(|token| *token == "AND").is_some() {
        is_met &= one(tokens, allowed);
    }
    is_met
}

fn one(tokens: &mut Vec<&str>, allowed: &BTreeSet<String>) -> bool {
    match tokens.pop() {
        Some("(") => {
            let is_met = any_of(tokens, allowed);
            assert_eq!(tokens.pop(), Some(")"));
            is_met
        }
        name => allowed.contains(&name.unwrap_or_default().replace("+WITH+", " WITH ")),
    }
}

#[test]
fn licences_are_among_those_that_are_allowed() {
    let rules = toml(".deny.toml");
    let allowed = rules["licenses"]["allow"].as_array().unwrap().iter().filter_map(toml::Value::as_str);
    let allowed: BTreeSet<String> = allowed.map(str::to_owned).collect();

    for package in ["Cargo.toml", "guest-shim/Cargo.toml"].into_iter().flat_map(packages) {
        let licence = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(licence, &allowed), "{} {}: {licence}", package["name"], package["version"]);
    }
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let allowed = BTreeSet::from(["MIT", "Apache-2.0"].map(str::to_owned));

    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(MIT OR GPL-3.0) AND Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0", false),
        ("GPL-3.0 OR (MIT AND Apache-2.0)", true),
        ("MIT WITH exception", false),
        ("none", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn crates_come_from_the_registry_alone() {
    for package in ["Cargo.toml", "guest-shim/Cargo.toml"].into_iter().flat_map(packages) {
        let source = package["source"].as_str().unwrap_or("this repository");
        let is_known = source == "this repository" || source.starts_with("registry+https://github.com/rust-lang/");
        assert!(is_known, "{} comes from {source}", package["name"]);
    }
}

/// A second version is compiled, shipped and patched twice. Those that are here come from crates we do not control;
/// a line that is no longer needed goes.
#[test]
fn versions_that_are_here_twice_are_known() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut twice: BTreeSet<String> = BTreeSet::new();
    for package in packages("Cargo.toml") {
        let name = package["name"].as_str().unwrap().to_owned();
        if !seen.insert(name.clone()) {
            twice.insert(name);
        }
    }
    let rules = toml(".deny.toml");
    let skipped = rules["bans"]["skip"].as_array().unwrap().iter();
    let skipped: BTreeSet<String> =
        skipped.map(|one| one["crate"].as_str().unwrap().split('@').next().unwrap().to_owned()).collect();

    assert_eq!(twice, skipped, "left: what `cargo tree -d` shows; right: `bans.skip` of .deny.toml");
}

/// Cargo refuses some combinations only when they are asked for, such as a package under two names.
#[test]
fn all_features_can_be_switched_on() {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version=1", "--locked", "--all-features", "--manifest-path"]);
    let output = command.arg(root().join("Cargo.toml")).output().unwrap();

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
