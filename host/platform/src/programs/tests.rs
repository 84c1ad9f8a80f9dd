//! Tests of programs.

use super::{Arc, Program, ProgramCache};

#[test]
fn the_oldest_program_makes_room_when_the_bytes_are_used_up() {
    let mut held = ProgramCache::default();
    // One byte of path and nine of source each.
    let program = || Arc::new(Program::single("p", "x".repeat(9)));

    for digest in ["a", "b", "b"] {
        held.hold(digest, &program(), 20);
    }
    let both_fit = held.by_digest.len();
    held.hold("c", &program(), 20);

    let mut left: Vec<&str> = held.by_digest.keys().map(String::as_str).collect();
    left.sort_unstable();
    assert_eq!((both_fit, left), (2, vec!["b", "c"]));
    assert_eq!(held.size_bytes, 20);
}
