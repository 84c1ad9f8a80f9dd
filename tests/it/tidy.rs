//! Rules about the repository itself: what the map claims about crates, what may come in, and that files stay short and
//! settings documented. Plain reading of files, so a broken rule fails here and not in a review.

mod crates;
mod dependencies;
mod settings;
mod sources;

use std::path::Path;
use std::process::Command;

use crate::generated::root;

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn toml(path: &str) -> toml::Table {
    read(path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What is in version control, or about to be: neither `target` nor `node_modules`.
fn files(patterns: &[&str]) -> Vec<String> {
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "--"];
    let output = Command::new("git").args(list).args(patterns).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let found: Vec<String> = listed.lines().filter(|path| root().join(path).exists()).map(str::to_owned).collect();
    assert!(!found.is_empty(), "no files match {patterns:?}");
    found
}
