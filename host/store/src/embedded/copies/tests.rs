//! Tests of copies.

use std::path::PathBuf;

use rusqlite::Connection;

use super::{back_up, inspect, restore};
use crate::embedded::Embedded;
use crate::{Batch, Error, Lookup, Op, Reads, Store, Tenant};

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
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
    let folder = Folder::new();
    let (path, copy) = (folder.path("store.db"), folder.path("copy.db"));
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
    assert!(!folder.path("copy.db-wal").exists() && !folder.path("copy.db.unfinished").exists());
}

#[tokio::test]
async fn a_store_that_is_gone_is_made_again_from_its_copy() {
    let folder = Folder::new();
    let (path, copy) = (folder.path("store.db"), folder.path("copy.db"));
    let store = Embedded::open(&path).unwrap();
    put(&store, "kept").await;
    back_up(&path, &copy).unwrap();
    drop(store);

    restore(&copy, &folder.path("new.db")).unwrap();

    assert!(has(&Embedded::open(&folder.path("new.db")).unwrap(), "kept").await);
}

#[tokio::test]
async fn what_is_no_store_or_of_a_newer_version_is_not_put_back_and_nothing_changes() {
    let folder = Folder::new();
    let path = folder.path("store.db");
    let store = Embedded::open(&path).unwrap();
    put(&store, "kept").await;
    back_up(&path, &folder.path("newer.db")).unwrap();
    drop(store);
    std::fs::write(folder.path("text"), "not a database, but long enough to be looked at").unwrap();
    Connection::open(folder.path("other.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (a); PRAGMA user_version=1")
        .unwrap();
    Connection::open(folder.path("newer.db")).unwrap().pragma_update(None, "user_version", 1000).unwrap();

    assert!(matches!(restore(&folder.path("text"), &path), Err(Error::Corrupt(_))));
    assert!(matches!(restore(&folder.path("other.db"), &path), Err(Error::NotAStore { .. })));
    assert!(matches!(restore(&folder.path("newer.db"), &path), Err(Error::NewerSchema { found: 1000, .. })));
    assert!(matches!(restore(&folder.path("absent.db"), &path), Err(Error::Sqlite(_))));
    assert!(has(&Embedded::open(&path).unwrap(), "kept").await);
}

#[tokio::test]
async fn an_inspection_tells_who_has_it_and_whether_it_is_sound() {
    let folder = Folder::new();
    let path = folder.path("store.db");
    let store = Embedded::open(&path).unwrap();

    let open = inspect(&path).unwrap();
    drop(store);
    let closed = inspect(&path).unwrap();

    assert_eq!((open.is_in_use, closed.is_in_use), (true, false));
    assert_eq!((closed.schema, closed.damage), (closed.known_schema, Vec::new()));
}
