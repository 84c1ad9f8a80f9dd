//! The committed shim is what its sources give.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn files_below(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name != "node_modules") {
            files_below(&path, found);
        }
    }
}

/// The same as `guest-shim/sources-hash.sh`: a hash over `sha256sum` of every source.
fn sources_hash() -> String {
    let root = root();
    let mut files = Vec::new();
    for part in [
        "guest-shim/Cargo.toml",
        "guest-shim/Cargo.lock",
        "guest-shim/build.sh",
        "guest-shim/src",
        "guest-shim/prelude",
        "wit",
    ] {
        files_below(&root.join(part), &mut files);
    }
    let mut names: Vec<String> =
        files.iter().map(|file| file.strip_prefix(&root).unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    let mut hasher = Sha256::new();
    for name in names {
        let content = Sha256::digest(std::fs::read(root.join(&name)).unwrap());
        hasher.update(format!("{}  {name}\n", hex::encode(content)));
    }
    hex::encode(hasher.finalize())
}

#[test]
fn the_committed_shim_was_built_from_these_sources() {
    let recorded = std::fs::read_to_string(root().join("guest-shim/shim.sources")).unwrap();

    assert_eq!(recorded.trim(), sources_hash(), "the shim's sources changed: run `just shim` and commit shim.wasm");
}
