//! `make-engine [--check]`: compiles `guest-shim/shim.wasm`, and writes the result to `guest-shim/engine/` or compares it with
//! what is there.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use engine::{Compiled, Target, compile};

/// Of the committed code. For other targets the product is built with the feature `compiler`.
const COMMITTED: &str = "x86_64-linux";

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let is_check = env::args().nth(1).is_some_and(|argument| argument == "--check");
    match make(is_check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make-engine: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(is_check: bool) -> Result<(), Failure> {
    // Where it is run, not where it was compiled: clones may share what is compiled.
    let own = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = own.join("../..");
    let shim = fs::read(root.join("guest-shim/shim.wasm"))?;
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let target = Target::named(COMMITTED).ok_or("no such target")?;
    let Compiled { code, first_memory, record } = compile(&shim, target, &lock)?;
    let folder = root.join("guest-shim/engine");
    let files = [(format!("{COMMITTED}.z"), code), ("first-memory.z".to_owned(), first_memory)];
    for (name, content) in files {
        let path = folder.join(&name);
        if is_check {
            let committed = miniz_oxide::inflate::decompress_to_vec_zlib(&fs::read(path)?);
            let is_same = committed.is_ok_and(|committed| committed == content);
            is_same.then_some(()).ok_or(format!("{name} is not what shim.wasm gives; `just engine` makes it anew"))?;
        } else {
            let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&content, 10);
            eprintln!("make-engine: {name}, {} bytes, {} compressed", content.len(), compressed.len());
            fs::write(path, compressed)?;
        }
    }
    if !is_check {
        fs::write(folder.join("record"), record)?;
    } else if fs::read_to_string(folder.join("record"))? != record {
        return Err("guest-shim/engine/record is not what shim.wasm gives; `just engine` makes it anew".into());
    } else {
        eprintln!("make-engine: the committed engine is what shim.wasm gives, byte for byte");
    }
    Ok(())
}
