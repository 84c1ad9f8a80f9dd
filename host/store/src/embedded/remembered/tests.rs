//! That nothing older than the last answered commit is ever remembered.

use bytes::Bytes;

use super::{HELD_BYTES, RecordChange, Remembered, VALUE_BYTES};
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

fn keep(remembered: &Remembered, id: &str, found: &Option<Record>) {
    let begun = remembered.record(&tenant(), "source", id).unwrap_err();
    remembered.keep_record(begun, &tenant(), "source", id, found);
}

#[test]
fn a_record_that_was_read_is_known_from_then_on() {
    let remembered = Remembered::default();
    keep(&remembered, "dc_a", &Some(record("dc_a", 1, 10)));
    keep(&remembered, "dc_b", &None);

    assert!(remembered.record(&tenant(), "source", "dc_a").is_ok_and(|found| found.is_some()));
    assert!(remembered.record(&tenant(), "source", "dc_b").is_ok_and(|found| found.is_none()));
    assert!(remembered.record(&tenant(), "webhook", "dc_a").is_err());
    assert!(remembered.record(&Tenant::parse("u_two").unwrap(), "source", "dc_a").is_err());
}

#[test]
fn a_commit_replaces_what_is_remembered_in_its_place() {
    let remembered = Remembered::default();
    keep(&remembered, "dc_a", &Some(record("dc_a", 1, 10)));

    remembered.change(vec![(tenant(), put("dc_a", 2))]);

    let found = remembered.record(&tenant(), "source", "dc_a").ok().flatten().unwrap();
    assert_eq!((found.version, found.position, &found.value[..]), (2, 7, &b"new"[..]));
}

#[test]
fn what_was_created_or_deleted_is_read_again() {
    let remembered = Remembered::default();
    keep(&remembered, "dc_a", &Some(record("dc_a", 1, 10)));
    keep(&remembered, "dc_b", &None);

    let deleted = RecordChange::Delete { kind: "source".into(), id: "dc_a".into() };
    remembered.change(vec![(tenant(), deleted), (tenant(), put("dc_b", 1))]);

    assert!(remembered.record(&tenant(), "source", "dc_a").is_err());
    assert!(remembered.record(&tenant(), "source", "dc_b").is_err());
}

#[test]
fn a_read_that_began_before_a_commit_leaves_nothing_behind() {
    let remembered = Remembered::default();
    let begun = remembered.record(&tenant(), "source", "dc_a").unwrap_err();
    let page_begun = remembered.page(&tenant(), "source", Page::newest(1)).unwrap_err().unwrap();

    remembered.change(vec![(tenant(), put("dc_a", 2))]);
    remembered.keep_record(begun, &tenant(), "source", "dc_a", &Some(record("dc_a", 1, 10)));
    remembered.keep_page(page_begun, &tenant(), "source", &Records { items: Vec::new(), total: 0 });

    assert!(remembered.record(&tenant(), "source", "dc_a").is_err());
    assert!(remembered.page(&tenant(), "source", Page::newest(1)).is_err());
}

#[test]
fn a_read_that_began_before_everything_was_forgotten_leaves_nothing_behind() {
    let remembered = Remembered::default();
    let begun = remembered.record(&tenant(), "source", "dc_a").unwrap_err();

    remembered.forget();
    let _begun_anew = remembered.record(&tenant(), "source", "dc_a").unwrap_err();
    remembered.keep_record(begun, &tenant(), "source", "dc_a", &None);

    assert!(remembered.record(&tenant(), "source", "dc_a").is_err());
}

#[test]
fn the_newest_of_a_kind_is_known_until_one_of_it_changes() {
    let remembered = Remembered::default();
    let begun = remembered.page(&tenant(), "source", Page::newest(1)).unwrap_err().unwrap();
    remembered.keep_page(begun, &tenant(), "source", &Records { items: Vec::new(), total: 3 });
    assert_eq!(remembered.page(&tenant(), "source", Page::newest(1)).ok().map(|page| page.total), Some(3));

    remembered.change(vec![(tenant(), put("dc_a", 1))]);

    assert!(remembered.page(&tenant(), "source", Page::newest(1)).is_err());
    assert!(remembered.page(&tenant(), "source", Page::newest(2)).is_err_and(|begun| begun.is_none()));
}

#[test]
fn a_value_is_remembered_up_to_its_bound() {
    let remembered = Remembered::default();

    keep(&remembered, "dc_a", &Some(record("dc_a", 1, VALUE_BYTES)));
    keep(&remembered, "dc_b", &Some(record("dc_b", 1, VALUE_BYTES + 1)));

    assert!(remembered.record(&tenant(), "source", "dc_a").is_ok());
    assert!(remembered.record(&tenant(), "source", "dc_b").is_err());
}

#[test]
fn no_more_is_held_than_the_bound() {
    let remembered = Remembered::default();
    let count = 2 * HELD_BYTES / VALUE_BYTES;

    for number in 0..count {
        keep(&remembered, &format!("dc_{number}"), &Some(record("dc", 1, VALUE_BYTES)));
        assert!(remembered.lock().held_bytes <= HELD_BYTES);
    }

    let known = |number: &usize| remembered.record(&tenant(), "source", &format!("dc_{number}")).is_ok();
    let known = (0..count).filter(known).count();
    assert!(known > 0 && known * VALUE_BYTES <= HELD_BYTES);
}
