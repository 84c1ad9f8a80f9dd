//! Snapshots are the memory they were taken of.

use std::os::unix::fs::MetadataExt;

use proptest::prelude::*;

use super::{Snapshot, stored_bytes};
use crate::region::MACHINE_PAGE_BYTES;
use ::engine::PAGE_BYTES;

proptest! {
    #[test]
    fn a_snapshot_gives_back_the_memory_it_was_taken_of(
        pages in 1usize..4,
        writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
    ) {
        let mut memory = vec![0; pages * PAGE_BYTES];
        for (at, byte) in writes {
            let at = at.index(memory.len());
            memory[at] = byte;
        }

        let snapshot = Snapshot::unnamed(&memory).unwrap();

        prop_assert_eq!(snapshot.bytes(), &memory);
    }
}

#[test]
fn pages_of_zeros_take_no_room() {
    let mut memory = vec![0; 16 * PAGE_BYTES];
    memory[5 * PAGE_BYTES] = 1;
    memory[9 * PAGE_BYTES] = 1;

    let snapshot = Snapshot::unnamed(&memory).unwrap();

    assert_eq!(stored_bytes(&memory), 2 * MACHINE_PAGE_BYTES);
    assert!(snapshot.file().metadata().unwrap().blocks() * 512 < PAGE_BYTES as u64);
}

#[test]
fn a_file_that_is_no_memory_is_refused() {
    for length in [0, 1, PAGE_BYTES - 1, PAGE_BYTES + 1] {
        assert!(Snapshot::map(tempfile::tempfile().unwrap(), length).is_err(), "{length} bytes");
    }
}
