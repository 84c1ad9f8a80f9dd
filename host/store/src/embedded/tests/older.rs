//! Files that an older version wrote.

use rusqlite::Connection;

use super::{append, open};
use crate::contract::text;
use crate::embedded::block::Block;
use crate::{Batch, EntryQuery, Reads, Store, Tenant};

#[tokio::test]
async fn entries_from_before_there_were_blocks_are_read_and_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let before = Connection::open(folder.path().join("store.db")).unwrap();
    before.execute_batch(include_str!("../schema.sql")).unwrap();
    before
        .execute_batch(
            "INSERT INTO streams VALUES (1, 'u_a', 'e', 'default', 2, 2);
             INSERT INTO entries VALUES (1, 1, X'61'), (1, 2, X'62');
             PRAGMA user_version = 1",
        )
        .unwrap();
    drop(before);

    let store = open(&folder);
    let tenant = Tenant::parse("u_a").unwrap();
    let read = || store.entries(&tenant, "e", "default", EntryQuery::newest(99));
    assert_eq!(read().await.unwrap().iter().map(|entry| &entry.value[..]).collect::<Vec<_>>(), [b"b", b"a"]);
    let batch = (0..8).fold(Batch::new(&tenant, 1), |batch, _| batch.then(append("c")));
    store.commit(batch).await.unwrap();

    let found = read().await.unwrap();
    assert_eq!((found.len(), found.last().map(|entry| entry.value.clone())), (9, Some(text("b"))));
}

#[tokio::test]
async fn what_is_from_before_rows_had_numbers_is_read_and_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let before = Connection::open(folder.path().join("store.db")).unwrap();
    before.execute_batch(include_str!("../schema.sql")).unwrap();
    before.execute_batch(include_str!("../schema/blocks.sql")).unwrap();
    let mut block = Block::default();
    (1..=3).for_each(|id| block.push(id, format!("{id}").as_bytes()));
    let (id, members, values) = block.columns();
    before.execute("INSERT INTO streams VALUES (1, 'u_a', 'e', 'default', 2, 3, 2)", []).unwrap();
    before.execute("INSERT INTO entries VALUES (1, ?1, ?2, ?3)", (id, values, members)).unwrap();
    before
        .execute_batch(
            "INSERT INTO scopes VALUES (1, 'u_a', 'dc_1', 5); INSERT INTO state VALUES (1, 'seen', X'37');
             PRAGMA user_version = 2",
        )
        .unwrap();
    drop(before);

    let store = open(&folder);
    let tenant = Tenant::parse("u_a").unwrap();
    let read = || store.entries(&tenant, "e", "default", EntryQuery::newest(99));
    assert_eq!(read().await.unwrap().iter().map(|entry| &entry.value[..]).collect::<Vec<_>>(), [b"3", b"2"]);
    let batch = (0..8).fold(Batch::new(&tenant, 1), |batch, _| batch.then(append("c")));
    store.commit(batch).await.unwrap();

    let found = read().await.unwrap();
    assert_eq!((found.len(), found.last().map(|entry| entry.value.clone())), (9, Some(text("3"))));
    assert_eq!(store.values(&tenant, "dc_1", &["seen".into()]).await.unwrap().found, [Some(text("7"))]);
}
