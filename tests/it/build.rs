//! Turns every folder of `tests/components` into a test, so that adding a folder adds a test.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Where it is built, not where this was compiled: clones may share what is compiled.
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("components");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut cases: Vec<String> = Vec::new();
    for entry in fs::read_dir(&root)? {
        let entry = entry?;
        if entry.path().join("case.json").exists() {
            cases.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    cases.sort();
    let tests: String = cases
        .iter()
        .map(|case| {
            format!(
                "#[tokio::test(start_paused = true)]\nasync fn {}() {{ check({case:?}).await; }}\n",
                case.replace('-', "_")
            )
        })
        .collect();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("components.rs"), tests)
}
