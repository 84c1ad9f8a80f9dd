//! Tests of copies.

use std::path::PathBuf;

use rusqlite::Connection;

use super::{back_up, inspect, restore};
use crate::embedded::Embedded;
use crate::{Batch, Error, Lookup, Op, Reads, Store, Tenant};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn tenant() -> Tenant {
    Tenant::parse("u_1").unwrap()
}

async fn put(store: &Embedded, id: &str) {
    let value = id.to_owned().into();
    let put = Op::PutRecord { kind: "thing".into(), id: id.into(), alias: None, value };
    store.commit(Batch::new(&tenant(), 1).then(put)).await.unwrap();
}

async fn has(store: &Embedded, id: &str) -> bool {
    store.record(&tenant(), "thing", Lookup::Id(id)).await.unwrap().is_some()
}

#[tokio::test]
async fn a_copy_made_while_the_store_works_holds_everything_up_to_then_and_is_put_back() {
    let place = Place::new();
    let (path, copy) = (place.path("store.db"), place.path("copy.db"));
    let store = Embedded::open(&path).unwrap();
    put(&store, "before").await;

    back_up(&path, &copy).unwrap();
    put(&store, "after").await;
    let while_open = restore(&copy, &path);
    drop(store);
    restore(&copy, &path).unwrap();

    assert!(matches!(while_open, Err(Error::InUse { .. })));
    let store = Embedded::open(&path).unwrap();
    assert_eq!((has(&store, "before").await, has(&store, "after").await), (true, false));
    assert!(!place.path("copy.db-wal").exists() && !place.path("copy.db.unfinished").exists());
}

#[tokio::test]
async fn a_store_that_is_gone_is_made_again_from_its_copy() {
    let place = Place::new();
    let (path, copy) = (place.path("store.db"), place.path("copy.db"));
    let store = Embedded::open(&path).unwrap();
    put(&store, "kept").await;
    back_up(&path, &copy).unwrap();
    drop(store);

    restore(&copy, &place.path("new.db")).unwrap();

    assert!(has(&Embedded::open(&place.path("new.db")).unwrap(), "kept").await);
}

#[tokio::test]
async fn what_is_no_store_or_of_a_newer_version_is_not_put_back_and_nothing_changes() {
    let place = Place::new();
    let path = place.path("store.db");
    let store = Embedded::open(&path).unwrap();
    put(&store, "kept").await;
    back_up(&path, &place.path("newer.db")).unwrap();
    drop(store);
    std::fs::write(place.path("text"), "not a database, but long enough to be looked at").unwrap();
    Connection::open(place.path("other.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (a); PRAGMA user_version=1")
        .unwrap();
    Connection::open(place.path("newer.db")).unwrap().pragma_update(None, "user_version", 1000).unwrap();

    assert!(matches!(restore(&place.path("text"), &path), Err(Error::Corrupt(_))));
    assert!(matches!(restore(&place.path("other.db"), &path), Err(Error::NotAStore { .. })));
    assert!(matches!(restore(&place.path("newer.db"), &path), Err(Error::NewerSchema { found: 1000, .. })));
    assert!(matches!(restore(&place.path("absent.db"), &path), Err(Error::Sqlite(_))));
    assert!(has(&Embedded::open(&path).unwrap(), "kept").await);
}

#[tokio::test]
async fn an_inspection_tells_who_has_it_and_whether_it_is_sound() {
    let place = Place::new();
    let path = place.path("store.db");
    let store = Embedded::open(&path).unwrap();

    let open = inspect(&path).unwrap();
    drop(store);
    let closed = inspect(&path).unwrap();

    assert_eq!((open.is_in_use, closed.is_in_use), (true, false));
    assert_eq!((closed.schema, closed.damage), (closed.known_schema, Vec::new()));
}
