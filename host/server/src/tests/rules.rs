//! The list of rules and the tests that hold them: every test it names exists.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// `crate::module::test` for every test function of the host's crates.
fn known_tests() -> HashSet<String> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
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

#[test]
fn every_rule_of_the_specification_is_held_by_a_test_that_exists() {
    let list = include_str!("../../rules.md");
    let known = known_tests();

    let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| rule")).collect();
    for row in &rows {
        let tests: Vec<&str> = row.split('`').skip(1).step_by(2).filter(|word| word.contains("::")).collect();
        assert!(!tests.is_empty(), "no test is named: {row}");
        for test in tests {
            assert!(known.contains(test), "{test} does not exist: {row}");
        }
    }
    assert!(rows.len() > 80, "only {} rules", rows.len());
}
