//! What is carried fits what it was made of.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::{CODE, Engine, FIRST_MEMORY, RECORD};

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[test]
fn the_engine_is_made_of_the_committed_shim_by_the_wasmtime_that_loads_it() {
    let root = Path::new("../..");
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let record: BTreeMap<&str, &str> = RECORD.lines().map(|line| line.split_once(' ').unwrap()).collect();
    let target = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let wasmtime = format!("name = \"wasmtime\"\nversion = \"{}\"\n", record["wasmtime"]);

    let shim = hash(&std::fs::read(root.join("guest-shim/shim.wasm")).unwrap());

    assert_eq!(record["shim.wasm"], shim, "shim.wasm has changed: `just engine` compiles it");
    assert!(lock.contains(&wasmtime), "Cargo.lock has another wasmtime: `just engine` compiles the shim with it");
    assert_eq!(record["first-memory"], hash(FIRST_MEMORY));
    assert_eq!(record[target.as_str()], hash(&CODE.0));
}

#[test]
fn engines_of_a_process_share_the_code_that_is_mapped_with_the_program() {
    let engines = [Engine::new(1).unwrap(), Engine::new(2).unwrap()];

    let texts = engines.each_ref().map(|engine| engine.code.module().text().as_ptr_range());

    assert_eq!(texts[0], texts[1]);
    let program = CODE.0.as_ptr_range();
    assert!(program.contains(&texts[0].start) && texts[0].end <= program.end);
}
