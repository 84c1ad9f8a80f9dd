//! The cache on disk.

use std::{fs, path::Path};

use bytes::Bytes;

use super::Cache;
use crate::registry::Files;

fn files() -> Files {
    Files::from([
        ("a.js".to_owned(), Bytes::from("one")),
        ("b".to_owned(), Bytes::new()),
        ("c.json".to_owned(), Bytes::from("{}")),
    ])
}

fn only_file(folder: &Path) -> std::path::PathBuf {
    let entry = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    if entry.is_dir() { only_file(&entry) } else { entry }
}

#[test]
fn packages_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().to_owned(), u64::MAX);

    assert!(cache.package("sha512-a").is_none());
    cache.keep_package("sha512-a", &files());

    assert_eq!(cache.package("sha512-a"), Some(files()));
    assert!(cache.package("sha512-b").is_none());
}

#[test]
fn packuments_come_back_with_their_etag() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().to_owned(), u64::MAX);
    cache.keep_packument("https://a.test/x", "\"etag\"", b"{}");

    let cached = cache.packument("https://a.test/x").unwrap();

    assert_eq!((cached.etag.as_str(), cached.body.as_ref()), ("\"etag\"", &b"{}"[..]));
    assert!(cached.age.as_secs() < 60);
}

#[test]
fn damage_counts_as_absence() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().to_owned(), u64::MAX);
    cache.keep_package("sha512-a", &files());
    let path = only_file(folder.path());
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, bad).unwrap();
        assert!(cache.package("sha512-a").is_none(), "byte {at}");
        fs::write(&path, &good[..at]).unwrap();
        assert!(cache.package("sha512-a").is_none(), "cut at {at}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let cache = Cache::new(file, u64::MAX);

    cache.keep_package("sha512-a", &files());

    assert!(cache.package("sha512-a").is_none());
}
