//! `make-engine [--check]`: compiles `guest-shim/shim.wasm`, and writes the result to `guest-shim/engine/` or compares it with
//! what is there. `make-engine --for aarch64-linux` writes the code for another target beside it, which is not committed: a build
//! for that target takes it from there.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use engine::{Compiled, Target, compile};

/// Of the committed code. For other targets the product is built with the feature `compiler`, or after `--for`.
const COMMITTED: &str = "x86_64-linux";

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let made = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => make(false),
        ["--check"] => make(true),
        ["--for", target] => make_for(target),
        _ => Err("it takes nothing, `--check` or `--for <target>`".into()),
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make-engine: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository. Where this is run, not where it was compiled: clones may share what is compiled.
fn root() -> PathBuf {
    let own = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    own.join("../..")
}

fn compiled(target: &str) -> Result<Compiled, Failure> {
    let shim = fs::read(root().join("guest-shim/shim.wasm"))?;
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let target = Target::named(target).ok_or_else(|| format!("the shim is not compiled for {target}"))?;
    Ok(compile(&shim, target, &lock)?)
}

fn make_for(target: &str) -> Result<(), Failure> {
    let code = miniz_oxide::deflate::compress_to_vec_zlib(&compiled(target)?.code, 6);
    fs::write(root().join(format!("guest-shim/engine/{target}.z")), code)?;
    eprintln!("make-engine: {target}.z");
    Ok(())
}

fn make(is_check: bool) -> Result<(), Failure> {
    let Compiled { code, first_memory, record } = compiled(COMMITTED)?;
    let folder = root().join("guest-shim/engine");
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
