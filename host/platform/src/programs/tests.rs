//! Tests of programs: how they are held in memory, stored, read, and how older ones are converted.

mod engines;
mod stored;

use std::sync::Arc;

use super::cache::{Assembled, ProgramCache, size_of};
use crate::ports::Program;
use crate::records::Modules;

fn modules(path: &str, length: usize) -> Modules {
    Program::single(path, "x".repeat(length)).modules
}

fn assembled(own_bytes: usize, packages: &[(&str, usize)]) -> Assembled {
    let packages = packages.iter().map(|(digest, length)| ((*digest).to_owned(), Arc::new(modules("p", *length))));
    Assembled { program: Arc::new(Program::single("p", "")), own_bytes, packages: packages.collect() }
}

#[test]
fn the_program_that_was_not_used_for_longest_makes_room_when_the_bytes_are_used_up() {
    let mut cache = ProgramCache::default();
    for digest in ["a", "b", "b"] {
        cache.hold(digest, assembled(10, &[]), 20);
    }
    assert_eq!(cache.held(), (2, 20), "exactly at the bound");

    assert!(cache.program("a").is_some());
    cache.hold("c", assembled(10, &[]), 20);

    let left = ["a", "b", "c"].map(|digest| cache.program(digest).is_some());
    assert_eq!((left, cache.held()), ([true, false, true], (2, 20)));
}

#[test]
fn a_package_that_programs_share_is_counted_once_and_goes_with_the_last_of_them() {
    let shared = size_of(&modules("p", 1000));
    let limit = shared + 30;
    let mut cache = ProgramCache::default();

    for digest in ["a", "b", "c"] {
        cache.hold(digest, assembled(10, &[("shared", 1000)]), limit);
    }
    assert_eq!(cache.held(), (3, limit));
    cache.hold("d", assembled(10, &[("shared", 1000)]), limit);
    assert_eq!(cache.held(), (3, limit));

    cache.shrink(shared);
    assert_eq!((cache.held(), cache.package("shared").is_some()), ((0, 0), false));
}

#[test]
fn a_program_that_is_larger_than_the_bound_is_not_held_and_drops_no_other() {
    let mut cache = ProgramCache::default();
    cache.hold("small", assembled(10, &[]), 100);

    cache.hold("large", assembled(10, &[("package", 1000)]), 100);

    assert_eq!((cache.held(), cache.program("large").is_some()), ((1, 10), false));
}
