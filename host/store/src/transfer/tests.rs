//! A store that goes to a server and back is the same; a move that is cut off goes on; what differs is found.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::rows::{Row, Tallies};
use super::{Server, to_file, to_server};
use crate::contract::servers::{self, connect, connect_postgres, free_port, namespace, server};
use crate::contract::{World, job, payloads};
use crate::embedded::Embedded;
use crate::{Batch, DirectoryWrite, EntryQuery, Error, LeaseRequest, Lookup, Op, Page, Shares, Store, Tenant};

fn put(kind: &str, id: &str, alias: Option<&str>) -> Op {
    Op::PutRecord { kind: kind.into(), id: id.into(), alias: alias.map(Into::into), value: format!("of {id}").into() }
}

fn append(stream: &str, value: &str) -> Op {
    Op::Append { emitter: "e:1%".into(), stream: stream.into(), value: value.to_owned().into(), keep: 2 }
}

/// Something of everything, for two tenants of different partitions.
async fn fill(store: &dyn Store) {
    for name in ["u_a", "u_zz"] {
        let tenant = Tenant::parse(name).unwrap();
        let counted = Op::Count { counter: "all".into(), amount: 7, expires_ms: None };
        let passing = Op::Count { counter: "day".into(), amount: 3, expires_ms: Some(4_000_000_000_000) };
        let set = Op::SetValue { scope: "s:1".into(), key: "k".into(), value: "v".into(), cap_bytes: 100 };
        let timer = Op::SetTimer { timer: "t:1".into(), due_ms: 50, schedule: "soon".into() };
        let batch =
            Batch::new(&tenant, 1000).then(put("k:1%", "first", Some("alias"))).then(put("k:1%", "second", None));
        let batch = batch.then(append("default", "gone")).then(append("default", "x")).then(append("$logs", "y"));
        let batch = batch.then(append("default", "z")).then(counted).then(passing).then(set).then(timer);
        store.commit(batch.then(job(Some("lane:1"), 0, "one")).then(job(Some("lane:1"), 0, "two"))).await.unwrap();
        store.commit(Batch::new(&tenant, 2000).then(put("k:1%", "first", Some("alias")))).await.unwrap();
        let entry = DirectoryWrite::Put { key: format!("key:{name}"), value: "there".into() };
        store.write_directory(entry).await.unwrap();
    }
}

async fn check(store: Arc<dyn Store>) {
    let world = World::new(store.clone(), ());
    let tenant = &world.tenant;
    let records = store.records(tenant, "k:1%", Page::newest(9)).await.unwrap();
    let ids: Vec<&str> = records.items.iter().map(|record| record.id.as_str()).collect();
    assert_eq!((ids, records.total), (vec!["second", "first"], 2));
    let first = store.record(tenant, "k:1%", Lookup::Alias("alias")).await.unwrap().unwrap();
    assert_eq!((first.id.as_str(), first.version, &first.value[..]), ("first", 2, &b"of first"[..]));
    let entries = store.entries(tenant, "e:1%", "default", EntryQuery::newest(9)).await.unwrap();
    let found: Vec<(String, &[u8])> = entries.iter().map(|entry| (entry.id.to_string(), &entry.value[..])).collect();
    assert_eq!(found, [("1000-3".to_owned(), &b"z"[..]), ("1000-1".to_owned(), &b"x"[..])]);
    assert_eq!(store.last_entry(tenant, "e:1%").await.unwrap().unwrap().to_string(), "1000-3");
    let values = store.values(tenant, "s:1", &["k".into()]).await.unwrap();
    assert_eq!((values.found[0].as_deref(), values.size_bytes), (Some(&b"v"[..]), 2));
    assert_eq!(store.counters(tenant, &["all".into(), "day".into()]).await.unwrap(), [7, 3]);
    assert_eq!(store.look_up("key:u_zz").await.unwrap().as_deref(), Some(&b"there"[..]));
    let request = LeaseRequest { now_ms: 60, lease_ms: 100, max: 9 };
    let leased = store.lease(&world.partition(), request, Shares::default()).await.unwrap();
    assert_eq!((leased.jobs.len(), leased.ticks.len()), (1, 1), "of a lane one at a time");
    assert_eq!((&leased.jobs[0].payload[..], &leased.ticks[0].schedule[..]), (&b"one"[..], &b"soon"[..]));
    let settled = vec![
        Op::Acknowledge(leased.jobs[0].lease),
        Op::FinishTick { lease: leased.ticks[0].lease.clone(), next_due_ms: None },
        append("default", "next"),
    ];
    let committed = world.commit(settled).await;
    assert_eq!(committed.entries[0].to_string(), "1000-4", "ids go on where they ended");
    assert_eq!(payloads(&world.lease(60, 9).await), ["two"]);
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

async fn redis() -> Server {
    Server::Redis(Box::new(connect(&server().address(), &namespace()).await))
}

async fn postgres() -> Server {
    Server::Postgres(Box::new(connect_postgres(&namespace()).await))
}

fn into_store(server: Server) -> Arc<dyn Store> {
    match server {
        Server::Redis(redis) => Arc::new(*redis),
        Server::Postgres(postgres) => Arc::new(*postgres),
    }
}

#[tokio::test]
async fn a_store_goes_to_redis_and_back_and_is_the_same() {
    there_and_back(redis().await).await;
}

#[tokio::test]
async fn a_store_goes_to_postgres_and_back_and_is_the_same() {
    there_and_back(postgres().await).await;
}

async fn there_and_back(server: Server) {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (file(folder.path(), "first.db"), file(folder.path(), "second.db"));
    let store = Embedded::open(&first).unwrap();
    fill(&store).await;
    store.settle_layout(7).await.unwrap();
    drop(store);

    let there = to_server(&first, &server).await.unwrap();
    let back = to_file(&server, &second).await.unwrap();

    assert_eq!(there, back);
    assert_eq!(there.tallies.iter().map(|(_, tally)| tally.rows).sum::<u64>(), 2 * 13 + 1);
    assert!(!server.is_moving().await.unwrap());
    let there: [Arc<dyn Store>; 2] = [into_store(server), Arc::new(Embedded::open(&second).unwrap())];
    for store in there {
        let refused = store.settle_layout(6).await;
        assert!(matches!(refused, Err(Error::NewerLayout { written: 7, reads: 6 })), "{refused:?}");
        check(store).await;
    }
}

#[tokio::test]
async fn a_move_goes_into_an_empty_server_alone() {
    let folder = tempfile::tempdir().unwrap();
    let first = file(folder.path(), "first.db");
    fill(&Embedded::open(&first).unwrap()).await;
    for server in [redis().await, postgres().await] {
        fill(server.store()).await;

        let refused = to_server(&first, &server).await;

        assert!(matches!(refused, Err(Error::NotEmpty)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_move_that_was_cut_off_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let first = file(folder.path(), "first.db");
    fill(&Embedded::open(&first).unwrap()).await;
    let own = servers::Server::start(free_port(), &[]);
    let alone = Server::Redis(Box::new(connect(&own.address(), "ws").await));
    for server in [alone, postgres().await] {
        // The first rows of the file, as a move writes them that ends after its first chunk.
        let (mut chunks, reading) = super::file::read(first.clone());
        let mut rows = chunks.recv().await.unwrap();
        rows.truncate(5);
        server.target().await.unwrap().apply(rows).await.unwrap();
        drop(chunks);
        reading.await.unwrap().unwrap();
        assert!(server.is_moving().await.unwrap(), "no host may use it");

        to_server(&first, &server).await.unwrap();

        assert!(!server.is_moving().await.unwrap());
        check(into_store(server)).await;
    }
}

#[tokio::test]
async fn a_row_that_differs_or_is_missing_is_found() {
    let row = |value: &'static str| Row::Directory { key: "k".into(), value: value.into() };
    let tallies = |rows: &[Row]| {
        let mut tallies = Tallies::default();
        rows.iter().for_each(|row| tallies.add(row));
        tallies
    };

    assert_eq!(tallies(&[row("a"), row("b")]).difference(&tallies(&[row("b"), row("a")])), None);
    assert_eq!(tallies(&[row("a")]).difference(&tallies(&[row("b")])), Some("directory"));
    assert_eq!(tallies(&[]).difference(&tallies(&[row("b")])), Some("directory"));
}

#[tokio::test]
async fn a_file_of_a_version_without_blocks_is_read_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let before = rusqlite::Connection::open(&path).unwrap();
    before.execute_batch(include_str!("../embedded/schema.sql")).unwrap();
    before
        .execute_batch(
            "INSERT INTO streams VALUES (1, 'u_a', 'e', 'default', 1, 7); INSERT INTO entries VALUES (1, 7, X'61');
             PRAGMA user_version = 1",
        )
        .unwrap();

    let (mut chunks, reading) = super::file::read(path);
    let mut found = Vec::new();
    while let Some(chunk) = chunks.recv().await {
        found.extend(chunk);
    }
    reading.await.unwrap().unwrap();

    let is_entry = |row: &Row| matches!(row, Row::Entry { id, value, .. } if id.packed() == 7 && value[..] == *b"a");
    assert!(found.iter().any(is_entry), "{found:?}");
    assert_eq!(before.pragma_query_value(None, "user_version", |row| row.get(0)), Ok(1));
}
