//! Gathers the JavaScript of the prelude into one table, so that adding a file needs no line of Rust.
//!
//! The texts are compressed: they are part of the memory of every image, and most are never asked for.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut table = String::from("&[\n");
    for part in ["core", "web", "node"] {
        add_folder(&mut table, part, &here.join("prelude").join(part));
    }
    println!("cargo::rerun-if-env-changed=WELLSPRING_PRELUDE_NPM");
    if let Ok(folder) = env::var("WELLSPRING_PRELUDE_NPM") {
        add_folder(&mut table, "npm", Path::new(&folder));
    }
    table.push(']');
    let output = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    fs::write(output.join("sources.rs"), table).expect("the output folder is writable");
}

/// Adds the files of a folder under the name of its part and their own, without `.js`.
fn add_folder(table: &mut String, part: &str, folder: &Path) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "js")).collect();
    // The order of a folder differs between machines; the build must not.
    files.sort();
    for file in files {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).expect("names are plain text");
        let source = fs::read(&file).expect("a listed file can be read");
        let name = format!("{part}/{stem}");
        writeln!(table, "    ({name:?}, &{:?}),", compress(&source)).expect("a string takes everything");
    }
}

fn compress(source: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(source).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}
