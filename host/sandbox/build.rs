//! Puts the compiled shim where `engine.rs` includes it: unpacked from `guest-shim/engine/`, or compiled with the feature
//! `compiler`, for a target whose code is not committed there.

use std::path::Path;
use std::{env, fs};

type Failure = Box<dyn std::error::Error>;

/// What is included, uncompressed: code is executed from where the program is mapped.
struct Files {
    code: Vec<u8>,
    first_memory: Vec<u8>,
    record: String,
}

fn main() -> Result<(), Failure> {
    let target = format!("{}-{}", env::var("CARGO_CFG_TARGET_ARCH")?, env::var("CARGO_CFG_TARGET_OS")?);
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let Files { code, first_memory, record } = files(&root, &target)?;
    let out = Path::new(&env::var("OUT_DIR")?).to_owned();
    fs::write(out.join("code"), code)?;
    fs::write(out.join("first-memory"), first_memory)?;
    fs::write(out.join("record"), record)?;
    Ok(())
}

#[cfg(not(feature = "compiler"))]
fn files(root: &Path, target: &str) -> Result<Files, Failure> {
    let folder = root.join("guest-shim/engine");
    println!("cargo::rerun-if-changed={}", folder.display());
    let code = folder.join(format!("{target}.z"));
    if !code.exists() {
        return Err(format!("there is no compiled engine for {target}: build with `--features compiler`").into());
    }
    let unpacked = |path: &Path| -> Result<Vec<u8>, Failure> {
        miniz_oxide::inflate::decompress_to_vec_zlib(&fs::read(path)?)
            .map_err(|error| format!("{} is damaged: {error}", path.display()).into())
    };
    Ok(Files {
        code: unpacked(&code)?,
        first_memory: unpacked(&folder.join("first-memory.z"))?,
        record: fs::read_to_string(folder.join("record"))?,
    })
}

#[cfg(feature = "compiler")]
fn files(root: &Path, target: &str) -> Result<Files, Failure> {
    let (shim, lock) = (root.join("guest-shim/shim.wasm"), root.join("Cargo.lock"));
    for path in [&shim, &lock] {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let target = engine::Target::named(target).ok_or(format!("wasmtime does not compile for {target}"))?;
    let made = engine::compile(&fs::read(shim)?, target, &fs::read_to_string(lock)?)?;
    Ok(Files { code: made.code, first_memory: made.first_memory, record: made.record })
}
