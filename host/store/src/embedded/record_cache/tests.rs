//! That nothing older than the last answered commit is ever cached.

use bytes::Bytes;

use super::{HELD_BYTES, RecordCache, RecordChange, VALUE_BYTES};
use crate::{Page, Record, Records, Tenant};

fn tenant() -> Tenant {
    Tenant::parse("u_one").unwrap()
}

fn record(id: &str, version: u64, size_bytes: usize) -> Record {
    Record { id: id.to_owned(), alias: None, version, position: 7, value: vec![0; size_bytes].into() }
}

fn put(id: &str, version: u64) -> RecordChange {
    RecordChange::Put { kind: "source".into(), id: id.into(), alias: None, version, value: Bytes::from_static(b"new") }
}

fn keep(cache: &RecordCache, id: &str, found: &Option<Record>) {
    let begun = cache.record(&tenant(), "source", id).unwrap_err();
    cache.keep_record(begun, &tenant(), "source", id, found);
}

#[test]
fn a_record_that_was_read_is_known_from_then_on() {
    let cache = RecordCache::default();
    keep(&cache, "dc_a", &Some(record("dc_a", 1, 10)));
    keep(&cache, "dc_b", &None);

    assert!(cache.record(&tenant(), "source", "dc_a").is_ok_and(|found| found.is_some()));
    assert!(cache.record(&tenant(), "source", "dc_b").is_ok_and(|found| found.is_none()));
    assert!(cache.record(&tenant(), "webhook", "dc_a").is_err());
    assert!(cache.record(&Tenant::parse("u_two").unwrap(), "source", "dc_a").is_err());
}

#[test]
fn a_commit_replaces_what_is_cached() {
    let cache = RecordCache::default();
    keep(&cache, "dc_a", &Some(record("dc_a", 1, 10)));

    cache.change(vec![(tenant(), put("dc_a", 2))]);

    let found = cache.record(&tenant(), "source", "dc_a").ok().flatten().unwrap();
    assert_eq!((found.version, found.position, &found.value[..]), (2, 7, &b"new"[..]));
}

#[test]
fn what_was_created_or_deleted_is_read_again() {
    let cache = RecordCache::default();
    keep(&cache, "dc_a", &Some(record("dc_a", 1, 10)));
    keep(&cache, "dc_b", &None);

    let deleted = RecordChange::Delete { kind: "source".into(), id: "dc_a".into() };
    cache.change(vec![(tenant(), deleted), (tenant(), put("dc_b", 1))]);

    assert!(cache.record(&tenant(), "source", "dc_a").is_err());
    assert!(cache.record(&tenant(), "source", "dc_b").is_err());
}

#[test]
fn a_read_that_began_before_a_commit_leaves_nothing_behind() {
    let cache = RecordCache::default();
    let begun = cache.record(&tenant(), "source", "dc_a").unwrap_err();
    let page_begun = cache.page(&tenant(), "source", Page::newest(1)).unwrap_err().unwrap();

    cache.change(vec![(tenant(), put("dc_a", 2))]);
    cache.keep_record(begun, &tenant(), "source", "dc_a", &Some(record("dc_a", 1, 10)));
    cache.keep_page(page_begun, &tenant(), "source", &Records { items: Vec::new(), total: 0 });

    assert!(cache.record(&tenant(), "source", "dc_a").is_err());
    assert!(cache.page(&tenant(), "source", Page::newest(1)).is_err());
}

#[test]
fn a_read_that_began_before_everything_was_forgotten_leaves_nothing_behind() {
    let cache = RecordCache::default();
    let begun = cache.record(&tenant(), "source", "dc_a").unwrap_err();

    cache.forget();
    let _begun_anew = cache.record(&tenant(), "source", "dc_a").unwrap_err();
    cache.keep_record(begun, &tenant(), "source", "dc_a", &None);

    assert!(cache.record(&tenant(), "source", "dc_a").is_err());
}

#[test]
fn the_newest_of_a_kind_is_known_until_one_of_it_changes() {
    let cache = RecordCache::default();
    let begun = cache.page(&tenant(), "source", Page::newest(1)).unwrap_err().unwrap();
    cache.keep_page(begun, &tenant(), "source", &Records { items: Vec::new(), total: 3 });
    assert_eq!(cache.page(&tenant(), "source", Page::newest(1)).ok().map(|page| page.total), Some(3));

    cache.change(vec![(tenant(), put("dc_a", 1))]);

    assert!(cache.page(&tenant(), "source", Page::newest(1)).is_err());
    assert!(cache.page(&tenant(), "source", Page::newest(2)).is_err_and(|begun| begun.is_none()));
}

#[test]
fn a_value_is_cached_up_to_its_bound() {
    let cache = RecordCache::default();

    keep(&cache, "dc_a", &Some(record("dc_a", 1, VALUE_BYTES)));
    keep(&cache, "dc_b", &Some(record("dc_b", 1, VALUE_BYTES + 1)));

    assert!(cache.record(&tenant(), "source", "dc_a").is_ok());
    assert!(cache.record(&tenant(), "source", "dc_b").is_err());
}

#[test]
fn no_more_is_held_than_the_bound() {
    let cache = RecordCache::default();
    let count = 2 * HELD_BYTES / VALUE_BYTES;

    for number in 0..count {
        keep(&cache, &format!("dc_{number}"), &Some(record("dc", 1, VALUE_BYTES)));
        assert!(cache.lock().held_bytes <= HELD_BYTES);
    }

    let known = |number: &usize| cache.record(&tenant(), "source", &format!("dc_{number}")).is_ok();
    let known = (0..count).filter(known).count();
    assert!(known > 0 && known * VALUE_BYTES <= HELD_BYTES);
}
