//! Files of the repository that are generated: each is compared with what it would be now. `just generate` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

pub(crate) fn root() -> PathBuf {
    // Tests run in the folder of their package, which need not be where they were compiled.
    Path::new("..").canonicalize().unwrap()
}

pub(crate) fn check_generated(path: &str, content: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, content).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == content, "{path} is not what it would be now: run `just generate` and commit it");
}

/// Name and version → licence, of everything that ends up in what `package` of this workspace builds.
fn embedded(manifest: &str, package: &str, target: &str) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform", target, "--manifest-path"])
        .arg(root().join(manifest))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let by_id = |list: &str| -> BTreeMap<String, Value> {
        let items = metadata.pointer(list).and_then(Value::as_array).unwrap();
        items.iter().map(|item| (item["id"].as_str().unwrap().to_owned(), item.clone())).collect()
    };
    let (packages, nodes) = (by_id("/packages"), by_id("/resolve/nodes"));
    let start = packages.values().find(|found| found["name"] == package).unwrap()["id"].as_str().unwrap();
    let (mut open, mut seen) = (vec![start.to_owned()], BTreeSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        for dependency in nodes[&id]["deps"].as_array().unwrap() {
            let kinds = dependency["dep_kinds"].as_array().unwrap();
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                open.push(dependency["pkg"].as_str().unwrap().to_owned());
            }
        }
    }
    seen.iter()
        .map(|id| &packages[id])
        .filter(|package| !package["source"].is_null())
        .map(|package| {
            let text = |field: &str| package[field].as_str().unwrap_or("see its repository").to_owned();
            (format!("{} {}", text("name"), text("version")), text("license"))
        })
        .collect()
}

/// Name and version → licence, of what is bundled into the console; its build tools are not.
fn bundled() -> BTreeMap<String, String> {
    let lock = std::fs::read_to_string(root().join("host/console/package-lock.json")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let packages = lock["packages"].as_object().unwrap().iter();
    packages
        .filter(|(path, package)| !path.is_empty() && package.get("dev").is_none())
        .map(|(path, package)| {
            let name = path.trim_start_matches("node_modules/");
            let text = |field: &str| package[field].as_str().unwrap_or("see its repository").to_owned();
            (format!("{name} {}", text("version")), text("license"))
        })
        .collect()
}

fn table(out: &mut String, title: &str, rows: &BTreeMap<String, String>) {
    writeln!(out, "\n## {title}\n\n| what | licence |\n|---|---|").unwrap();
    for (name, licence) in rows {
        writeln!(out, "| {name} | {licence} |").unwrap();
    }
}

#[test]
fn generated_licences_are_those_of_what_is_embedded() {
    let mut out = String::from(
        "# Third-party licences\n\nWhat the `wellspring` binary, the shim and the console inside of it contain. Written by `just generate`.\n",
    );
    table(&mut out, "The binary", &embedded("Cargo.toml", "wellspring", "x86_64-unknown-linux-gnu"));
    table(&mut out, "The shim", &embedded("guest-shim/Cargo.toml", "guest-shim", "wasm32-wasip1"));
    let beside = [
        ("QuickJS-ng (in rquickjs-sys)", "MIT"),
        ("wasi-libc", "Apache-2.0 WITH LLVM-exception, MIT, BSD-2-Clause"),
        ("compiler-rt builtins", "Apache-2.0 WITH LLVM-exception"),
        ("Rust's standard library", "MIT OR Apache-2.0"),
        ("SQLite (in libsqlite3-sys)", "public domain"),
    ];
    let beside = beside.iter().map(|(name, licence)| ((*name).to_owned(), (*licence).to_owned())).collect();
    table(&mut out, "C code and runtimes", &beside);
    table(&mut out, "The console", &bundled());
    if let Ok(npm) = std::fs::read_to_string(root().join("guest-shim/prelude/npm/LICENCES.md")) {
        writeln!(out, "\n{}", npm.trim_end().replace("# ", "## ")).unwrap();
    }

    check_generated("THIRD-PARTY.md", &out);
}
