//! What is read back, and what is made again.

use std::fs;

use wasmtime::{Engine, Module};

use super::{Cache, TRAILER_BYTES};
use crate::image;

const KEY: [u8; 32] = [7; 32];

struct Kept {
    folder: tempfile::TempDir,
    engine: Engine,
    cache: Cache,
}

fn keep() -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::default();
    let cache = Cache::new(Some(folder.path().to_owned()));
    let memory: Vec<u8> = (0..64 << 10).map(|at| (at % 251) as u8).collect();
    cache.keep("images", &KEY, Module::new(&engine, image::encode(&memory)).unwrap());
    Kept { folder, engine, cache }
}

impl Kept {
    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("images").join(hex::encode(KEY))
    }

    fn is_found(&self) -> bool {
        self.cache.find(&self.engine, "images", &KEY).is_some()
    }
}

#[test]
fn a_kept_module_is_found_again() {
    let kept = keep();

    assert!(kept.is_found());
    assert_eq!(fs::read_dir(kept.folder.path().join("images")).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn a_copy_that_lost_its_time_is_checked_and_found() {
    let kept = keep();
    let bytes = fs::read(kept.path()).unwrap();

    fs::write(kept.path(), bytes).unwrap();

    assert!(kept.is_found());
}

#[test]
fn a_file_with_any_byte_changed_is_not_used() {
    let kept = keep();
    let bytes = fs::read(kept.path()).unwrap();

    for at in [0, 1, bytes.len() / 3, bytes.len() / 2, bytes.len() - TRAILER_BYTES, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x20;
        fs::write(kept.path(), damaged).unwrap();

        assert!(!kept.is_found(), "byte {at}");
    }
}

#[test]
fn a_file_cut_short_is_not_used() {
    let kept = keep();
    let bytes = fs::read(kept.path()).unwrap();

    for length in [0, 1, TRAILER_BYTES, bytes.len() / 2, bytes.len() - 1] {
        fs::write(kept.path(), &bytes[..length]).unwrap();

        assert!(!kept.is_found(), "{length} bytes");
    }
}

#[test]
fn a_module_of_another_engine_is_not_used() {
    let kept = keep();
    let other = Engine::new(wasmtime::Config::new().consume_fuel(true)).unwrap();

    assert!(kept.cache.find(&other, "images", &KEY).is_none());
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_time() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let engine = Engine::default();
    let cache = Cache::new(Some(file.path().to_owned()));

    cache.keep("images", &KEY, Module::new(&engine, image::encode(&[1; 64 << 10])).unwrap());

    assert!(cache.find(&engine, "images", &KEY).is_none());
}
