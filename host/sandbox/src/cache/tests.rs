//! What is read back, and what is made again.

use std::fs;

use admission::Share;

use super::{Cache, Draft, Owner, TRAILER_BYTES};
use crate::snapshot::Snapshot;

const KEY: [u8; 32] = [7; 32];
const SECRET: [u8; 32] = [9; 32];
const AMPLE: Share = Share::new(1 << 30, 1 << 30);

struct Kept {
    folder: tempfile::TempDir,
    cache: Cache,
    memory: Vec<u8>,
}

fn keep() -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(folder.path().to_owned()), SECRET, AMPLE);
    let memory: Vec<u8> = (0..64 << 10).map(|at| (at % 251) as u8).collect();
    draft(&cache, KEY, Owner::default(), &memory).keep();
    Kept { folder, cache, memory }
}

fn base() -> std::sync::Arc<Snapshot> {
    Snapshot::unnamed(&[3; 64 << 10]).unwrap()
}

fn draft(cache: &Cache, key: [u8; 32], owner: Owner, memory: &[u8]) -> Draft {
    cache.draft_image(&key, owner, &base(), memory).unwrap()
}

/// Memory that takes nearly 64 KiB on the disk too.
fn random(seed: u8) -> Vec<u8> {
    let mut memory = vec![0; 64 << 10];
    blake3::Hasher::new().update(&[seed]).finalize_xof().fill(&mut memory);
    memory
}

/// As if the image was last used so many days ago.
fn age(cache: &Cache, key: u8, days: u32) {
    let file = fs::File::options().write(true).open(cache.path("images", &[key; 32]).unwrap()).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(86_400) * days).unwrap();
}

impl Kept {
    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("images").join(hex::encode(KEY))
    }

    fn files(&self) -> usize {
        fs::read_dir(self.folder.path().join("images")).unwrap().count()
    }

    fn is_found(&self) -> bool {
        let found = self.cache.find_image(&KEY, &base());
        found.is_some_and(|found| found.bytes() == self.memory)
    }
}

#[test]
fn a_kept_snapshot_is_found_again() {
    let kept = keep();

    assert!(kept.is_found());
    assert_eq!(kept.files(), 1, "no temporary file is left");
}

#[test]
fn a_draft_is_usable_and_leaves_nothing_when_it_is_not_kept() {
    let kept = keep();
    let draft = draft(&kept.cache, [8; 32], Owner::default(), &kept.memory);

    assert_eq!(draft.snapshot.bytes(), kept.memory);
    assert!(kept.cache.find_image(&[8; 32], &base()).is_none());
    drop(draft);
    assert_eq!(kept.files(), 1);
}

#[test]
fn a_file_that_another_server_wrote_is_not_used() {
    let kept = keep();
    let other = Cache::new(Some(kept.folder.path().to_owned()), [1; 32], AMPLE);

    assert!(other.find_image(&KEY, &base()).is_none());
    assert!(kept.is_found());
}

#[test]
fn an_image_over_another_base_is_not_used() {
    let kept = keep();

    assert!(kept.cache.find_image(&KEY, &Snapshot::unnamed(&[4; 64 << 10]).unwrap()).is_none());
    assert!(kept.is_found());
}

#[test]
fn the_base_image_is_found_again() {
    let kept = keep();
    let memory = kept.cache.keep_base(&KEY, &random(1)).unwrap();

    assert_eq!(memory.bytes(), random(1));
    assert_eq!(kept.cache.find_base(&KEY).unwrap().bytes(), random(1));
    assert!(kept.cache.find_base(&[8; 32]).is_none());
}

#[test]
fn files_of_other_versions_and_images_unused_for_long_are_swept_at_the_next_start() {
    let kept = keep();
    fs::write(kept.path().with_file_name("an-image-of-another-version"), [1; 4096]).unwrap();
    for key in [1, 2] {
        draft(&kept.cache, [key; 32], Owner::default(), &kept.memory).keep();
    }
    age(&kept.cache, 1, 39);
    age(&kept.cache, 2, 41);

    let cache = Cache::new(Some(kept.folder.path().to_owned()), SECRET, AMPLE);

    assert_eq!(kept.files(), 2);
    assert_eq!(cache.images_used().0, 2);
    assert!(cache.find_image(&[1; 32], &base()).is_some());
    assert!(cache.find_image(&[2; 32], &base()).is_none());
}

#[test]
fn a_file_that_was_changed_and_has_its_old_time_is_not_used() {
    let kept = keep();
    let time = fs::metadata(kept.path()).unwrap().modified().unwrap();
    let mut bytes = fs::read(kept.path()).unwrap();
    bytes[100] ^= 1;

    fs::write(kept.path(), bytes).unwrap();
    fs::File::options().write(true).open(kept.path()).unwrap().set_modified(time).unwrap();

    assert!(!kept.is_found());
}

#[test]
fn what_a_process_left_unfinished_is_swept_at_the_next_start() {
    let kept = keep();
    for name in [".unfinished-1", ".tmpAbCdEf"] {
        fs::write(kept.path().with_file_name(name), "half").unwrap();
    }

    Cache::new(Some(kept.folder.path().to_owned()), SECRET, AMPLE);

    assert_eq!(kept.files(), 1);
    assert!(kept.is_found());
}

#[test]
fn the_least_recently_used_images_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(folder.path().to_owned()), SECRET, Share::new(250 << 10, 250 << 10));
    let find = |key: u8| cache.find_image(&[key; 32], &base()).is_some();
    for key in 1..=3 {
        draft(&cache, [key; 32], Owner::default(), &random(key)).keep();
        age(&cache, key, u32::from(10 - key));
    }
    assert!(find(1), "it is used again");

    draft(&cache, [4; 32], Owner::default(), &random(4)).keep();

    assert_eq!([1, 2, 3, 4].map(find), [true, false, true, true]);
    cache.remove_image(&[3; 32]);
    assert!(!find(3));
}

#[test]
fn a_tenant_beyond_its_share_of_images_loses_its_own_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let share = Share::new(1 << 20, 250 << 10);
    let cache = Cache::new(Some(folder.path().to_owned()), SECRET, share);
    let keep = |cache: &Cache, key: u8, tenant: &str| {
        draft(cache, [key; 32], Owner::of(tenant), &random(key)).keep();
        age(cache, key, 30 - u32::from(key));
    };
    let has = |key: u8| folder.path().join("images").join(hex::encode([key; 32])).exists();

    keep(&cache, 1, "modest");
    for key in 2..=4 {
        keep(&cache, key, "greedy");
    }
    assert!((1..=4).all(has), "each is within its share");
    keep(&cache, 5, "greedy");
    assert_eq!([1, 2, 3, 4, 5].map(has), [true, false, true, true, true]);

    // What is there is known after a start, and a bound that was lowered counts.
    let cache = Cache::new(Some(folder.path().to_owned()), SECRET, Share::new(300 << 10, 130 << 10));
    keep(&cache, 6, "another");
    assert_eq!([1, 3, 4, 5, 6].map(has), [true, false, true, true, true]);
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
fn a_folder_that_cannot_be_written_costs_nothing_but_time() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let cache = Cache::new(Some(file.path().to_owned()), SECRET, AMPLE);

    let snapshot = draft(&cache, KEY, Owner::default(), &[1; 64 << 10]).keep();

    assert_eq!(snapshot.bytes(), [1; 64 << 10]);
    assert!(cache.find_image(&KEY, &base()).is_none());
}
