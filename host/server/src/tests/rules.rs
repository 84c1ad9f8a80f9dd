//! The list of rules: every test and every place in the code that it names exists.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// `crate::module::test` for every test function of the host's crates.
fn known_tests() -> HashSet<String> {
    let host = Path::new("..");
    let mut names = HashSet::new();
    for name in ["domain", "outbound", "platform", "server", "store"] {
        collect(&host.join(name).join("src"), name, &mut names);
    }
    names
}

fn collect(folder: &Path, name: &str, names: &mut HashSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, name, names);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let functions = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
        names.extend(functions.map(|function| format!("{name}::{function}")));
    }
}

/// Between a file and a function of it.
const PLACE: &str = ".rs#";

fn rules(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| rule"))
}

fn quoted(row: &str) -> impl Iterator<Item = &str> {
    row.split('`').skip(1).step_by(2)
}

/// Whether a file declares a function or a constant.
fn declares(path: &Path, name: &str) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let is_declared = |keyword: &str, ends: &[char]| {
        text.split(&format!("{keyword} {name}")).skip(1).any(|rest| rest.starts_with(ends))
    };
    is_declared("fn", &['(', '<']) || is_declared("const", &[':'])
}

#[test]
fn every_rule_is_implemented_where_this_list_says() {
    let host = Path::new("..");

    let rows: Vec<&str> = rules(include_str!("../../rules.md")).filter(|row| row.contains(PLACE)).collect();
    for row in &rows {
        for place in quoted(row).filter(|word| word.contains(PLACE)) {
            let (file, name) = place.split_once('#').unwrap();
            assert!(declares(&host.join(file), name), "{place} does not exist: {row}");
        }
    }
    assert!(rows.len() >= 20, "only {} rules", rows.len());
}

#[test]
fn every_rule_of_the_specification_is_held_by_a_test_that_exists() {
    let list = include_str!("../../rules.md");
    let known = known_tests();

    let rows: Vec<&str> = rules(list).filter(|row| !row.contains(PLACE)).collect();
    for row in &rows {
        let tests: Vec<&str> = quoted(row).filter(|word| word.contains("::")).collect();
        assert!(!tests.is_empty(), "no test is named: {row}");
        for test in tests {
            assert!(known.contains(test), "{test} does not exist: {row}");
        }
    }
    assert!(rows.len() > 80, "only {} rules", rows.len());
}
