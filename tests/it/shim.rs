//! The committed shim is what its sources give.

use std::path::Path;
use std::process::Command;

#[test]
fn the_committed_shim_was_built_from_these_sources() {
    let folder = Path::new("../guest-shim");
    let recorded = std::fs::read_to_string(folder.join("shim.sources")).unwrap();

    let hash = Command::new("bash").arg(folder.join("sources-hash.sh")).output().unwrap();

    let hash = String::from_utf8(hash.stdout).unwrap();
    assert_eq!(recorded.trim(), hash.trim(), "the shim's sources changed: run `just shim` and commit shim.wasm");
}
