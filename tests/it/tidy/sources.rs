//! The form of source files.

use std::collections::BTreeSet;

use super::{files, read, toml};

/// Aim for 400; what is longer than this is two ideas.
const LINES_MAXIMUM: usize = 440;

#[test]
fn files_are_short() {
    // Tables of cases are data.
    let is_data =
        |path: &String| path.starts_with("tests/oracle/") || path.starts_with("tests/tools/src/bin/packages/cases/");
    for path in files(&["*.rs", "*.ts", "*.tsx", "*.js", "*.mjs", "*.lua", "*.sh", "*.wit"])
        .iter()
        .filter(|path| !is_data(path))
    {
        let lines = read(path).lines().count();
        assert!(lines <= LINES_MAXIMUM, "{path} has {lines} lines, more than {LINES_MAXIMUM}: split it by idea");
    }
}

#[test]
fn every_rust_file_opens_with_what_it_is_for() {
    for path in files(&["*.rs"]) {
        let text = read(&path);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("//! ") && first.len() > 8, "{path} opens with {first:?}, not with `//!`");
    }
}

#[test]
fn no_module_is_named_mod_rs() {
    assert_eq!(files(&["*.rs"]).iter().find(|path| path.ends_with("/mod.rs")), None);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for path in files(&["*Cargo.toml"]).iter().filter(|path| *path != "Cargo.toml" && !path.starts_with("guest-shim")) {
        assert_eq!(toml(path)["lints"]["workspace"].as_bool(), Some(true), "{path}");
    }
}

/// The shim is a workspace of its own; what it denies is what the host denies, where that applies inside the sandbox.
#[test]
fn the_shim_denies_what_the_host_denies() {
    let names = |path: &str, place: &[&str]| -> BTreeSet<String> {
        let manifest = toml::Value::Table(toml(path));
        let table = place.iter().fold(&manifest, |value, name| &value[*name]);
        table.as_table().unwrap().keys().cloned().collect()
    };
    let host = names("Cargo.toml", &["workspace", "lints", "clippy"]);
    let shim = names("guest-shim/Cargo.toml", &["lints", "clippy"]);

    let absent: Vec<&String> = host.difference(&shim).collect();

    // One thread and no async: these have nothing to find there.
    assert_eq!(absent, ["await_holding_lock", "large_futures"]);
    let unsafe_blocks = "undocumented_unsafe_blocks";
    assert_eq!(toml("Cargo.toml")["workspace"]["lints"]["clippy"][unsafe_blocks].as_str(), Some("deny"));
    assert_eq!(toml("guest-shim/Cargo.toml")["lints"]["clippy"][unsafe_blocks].as_str(), Some("deny"));
}
