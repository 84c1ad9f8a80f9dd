//! What only the embedded engine promises: one file, found again after a crash, and clear refusals.

mod older;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use rusqlite::Connection;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use tempfile::TempDir;

use super::disk::Disk;
use super::writer::{BOUNDS, Request, Writer};
use super::{Embedded, schema};
use crate::contract::{World, job, leases, payloads, text};
use crate::feed::{Bounds, Feed};
use crate::{
    Batch, CommitError, Committed, DirectoryWrite, Enqueue, EntryQuery, Error, LeaseRequest, Lookup, Op, Page,
    Partition, Reads, Shares, Store, Tenant, Work,
};

fn open(folder: &TempDir) -> Embedded {
    Embedded::open(&folder.path().join("store.db")).unwrap()
}

fn world(folder: &TempDir) -> World {
    World::new(Arc::new(open(folder)), ())
}

fn count() -> Op {
    Op::Count { counter: "runs".into(), amount: 1, expires_ms: None }
}

fn held_job(payload: &str, due_ms: u64, held_until_ms: u64) -> Op {
    let held_until_ms = Some(held_until_ms);
    Op::Enqueue(Enqueue { lane: None, due_ms, payload: text(payload), entry: None, held_until_ms })
}

fn append(value: &str) -> Op {
    Op::Append { emitter: "e".into(), stream: "default".into(), value: text(value), keep: 9 }
}

/// The same file again, as after a crash: what was given out and not finished is free again.
fn reopen(world: World, folder: &TempDir) -> World {
    drop(world);
    self::world(folder)
}

#[tokio::test]
async fn everything_is_found_again_after_the_store_went_away() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder);
    let put = Op::PutRecord { kind: "k".into(), id: "a".into(), alias: Some("slug".into()), value: text("v") };
    let set = Op::SetValue { scope: "s".into(), key: "k".into(), value: text("v"), cap_bytes: 9 };
    let timer = Op::SetTimer { timer: "t".into(), due_ms: 7, schedule: text("every 7") };
    world
        .commit(vec![put, append("1"), set, count(), timer, job(Some("l"), 5, "first"), job(Some("l"), 5, "second")])
        .await;
    world.store.write_directory(DirectoryWrite::Put { key: "d".into(), value: text("v") }).await.unwrap();

    let world = reopen(world, &folder);

    let (store, tenant) = (&world.store, &world.tenant);
    assert_eq!(store.record(tenant, "k", Lookup::Alias("slug")).await.unwrap().unwrap().value, text("v"));
    assert_eq!(store.entries(tenant, "e", "default", EntryQuery::newest(9)).await.unwrap().len(), 1);
    assert_eq!(store.values(tenant, "s", &["k".into()]).await.unwrap().size_bytes, 2);
    assert_eq!(store.counters(tenant, &["runs".into()]).await.unwrap(), [1]);
    assert_eq!(store.look_up("d").await.unwrap(), Some(text("v")));
    assert_eq!(payloads(&world.lease(5, 9).await), ["first"]);
    let ticks = store.lease_timers(&world.partition(), LeaseRequest { now_ms: 7, lease_ms: 1, max: 9 }).await.unwrap();
    assert_eq!(ticks.items.first().map(|tick| tick.schedule.clone()), Some(text("every 7")));
    let ids = world.try_commit(1, vec![], vec![append("2")]).await.unwrap().entries;
    assert_eq!(ids.first().map(ToString::to_string).as_deref(), Some("1000-1"));
}

#[tokio::test]
async fn a_lease_of_an_earlier_life_is_lost_and_its_job_free() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder);
    world.commit(vec![job(None, 0, "a")]).await;
    let old = leases(&world.lease(10, 9).await).pop().unwrap();

    let world = reopen(world, &folder);

    let again = world.lease(11, 9).await;
    assert_eq!(payloads(&again), ["a"]);
    let lost = world.try_commit(12, vec![], vec![Op::Acknowledge(old)]).await;
    assert!(matches!(lost, Err(CommitError::LeaseLost)), "{lost:?}");
    world.commit(leases(&again).into_iter().map(Op::Acknowledge).collect()).await;
    let world = reopen(world, &folder);
    assert_eq!(world.lease(9999, 9).await.next_due_ms, None);
}

#[tokio::test]
async fn a_job_that_an_earlier_process_held_is_due_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder);
    world.commit(vec![held_job("accepted", 10, 40_000)]).await;
    assert_eq!(world.lease(39_999, 9).await.next_due_ms, Some(40_000));

    let world = reopen(world, &folder);

    assert_eq!(payloads(&world.lease(10, 9).await), ["accepted"]);
}

#[tokio::test]
async fn what_was_answered_is_there_after_an_end_between_any_two_commits() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = world(&folder);
    for number in 1..=20_i64 {
        let committed = world.commit(vec![count(), append("x"), job(None, 0, &number.to_string())]).await;
        assert_eq!(committed.counters, [number]);
        if number % 3 == 0 {
            let leased = world.lease(1000, 1).await;
            world.commit(leases(&leased).into_iter().map(Op::Acknowledge).collect()).await;
        }
        world = reopen(world, &folder);
    }

    let streams = world.store.streams(&world.tenant, "e").await.unwrap();
    assert_eq!(streams.first().map(|stream| stream.count), Some(9));
    assert_eq!(world.lease(1000, 99).await.items.len(), 14);
}

#[tokio::test]
async fn a_batch_that_is_refused_does_not_affect_the_others_of_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder));
    let world = Arc::new(World::new(Arc::clone(&store) as Arc<dyn Store>, ()));
    let set = |value: &'static [u8]| Op::SetValue {
        scope: "s".into(),
        key: "k".into(),
        value: Bytes::from_static(value),
        cap_bytes: 5,
    };
    let commits = (0..90).map(|number| {
        let world = Arc::clone(&world);
        let last = if number % 3 == 0 { set(b"too long") } else { set(b"fits") };
        tokio::spawn(async move { world.try_commit(1, vec![], vec![count(), append("x"), last]).await.is_ok() })
    });

    let mut accepted = 0;
    for commit in commits.collect::<Vec<_>>() {
        accepted += i64::from(commit.await.unwrap());
    }

    assert_eq!(accepted, 60);
    assert_eq!(store.counters(&world.tenant, &["runs".into()]).await.unwrap(), [60]);
    let entries = store.entries(&world.tenant, "e", "default", EntryQuery::newest(99)).await.unwrap();
    assert_eq!(entries.first().map(|entry| entry.id.sequence()), Some(59));
}

#[tokio::test]
async fn more_committers_than_the_queue_holds_wait_their_turn() {
    let folder = tempfile::tempdir().unwrap();
    let world = Arc::new(world(&folder));
    let many = BOUNDS.capacity + 1;
    let commits = (0..many).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move { world.commit(vec![count()]).await })
    });

    for commit in commits.collect::<Vec<_>>() {
        commit.await.unwrap();
    }

    let total = i64::try_from(many).unwrap();
    assert_eq!(world.store.counters(&world.tenant, &["runs".into()]).await.unwrap(), [total]);
}

#[tokio::test]
async fn counters_past_their_day_are_swept() {
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder);
    let day = Op::Count { counter: "day".into(), amount: 1, expires_ms: Some(100_000) };

    world.try_commit(99_999, vec![], vec![day]).await.unwrap();
    assert_eq!(world.store.counters(&world.tenant, &["day".into()]).await.unwrap(), [1]);
    world.try_commit(200_000, vec![], vec![]).await.unwrap();

    assert_eq!(world.store.counters(&world.tenant, &["day".into()]).await.unwrap(), [0]);
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let tenant = Tenant::parse("u_a").unwrap();
    let commit = |value: &str| {
        let put = Op::PutRecord { kind: "k".into(), id: value.into(), alias: None, value: text(value) };
        store.commit(Batch::new(&tenant, 1).then(put).then(job(None, 0, value)))
    };
    commit("before").await.unwrap();
    let copy = folder.path().join("copy.db");

    store.backup(&copy).await.unwrap();
    commit("after").await.unwrap();

    let copy = Embedded::open(&copy).unwrap();
    assert_eq!(copy.records(&tenant, "k", Page::newest(9)).await.unwrap().total, 1);
    let everywhere = Partition::all(copy.partitions());
    let leased =
        copy.lease_jobs(&everywhere, LeaseRequest { now_ms: 1, lease_ms: 1, max: 9 }, Shares::default()).await.unwrap();
    assert_eq!(payloads(&leased), ["before"]);
}

/// A writer without its thread, so that its connection can be put in a bad state first.
fn bare_writer(folder: &TempDir, pragma: (&str, i64)) -> Writer {
    let (connection, opened) = schema::open_writer(&folder.path().join("store.db")).unwrap();
    connection.pragma_update(None, pragma.0, pragma.1).unwrap();
    let disk = Disk::new(&folder.path().join("store.db"));
    Writer::new((connection, disk), &opened, (Arc::default(), Feed::new(Bounds::default()), Arc::default())).unwrap()
}

fn commit_on(writer: &mut Writer, operations: Vec<Op>) -> Result<Committed, CommitError> {
    let (reply, mut answer) = tokio::sync::oneshot::channel();
    let mut batch = Batch::new(&Tenant::parse("u_a").unwrap(), 1);
    batch.operations = operations;
    writer.write(&mut [Request::Commit(Box::new(batch), reply)].into());
    answer.try_recv().unwrap()
}

#[test]
fn a_full_disk_is_told_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    // The smallest value stands for "as many pages as there are": the file may not grow.
    let mut writer = bare_writer(&folder, ("max_page_count", 1));
    let value = Bytes::from(vec![0; 100_000]);
    let large = Op::Append { emitter: "e".into(), stream: "s".into(), value, keep: 9 };

    let full = commit_on(&mut writer, vec![count(), large]);
    let small = commit_on(&mut writer, vec![count(), append("x")]).unwrap();

    assert!(matches!(full, Err(CommitError::Unavailable(Error::DiskFull(_)))), "{full:?}");
    assert_eq!(small.counters, [1]);
    assert_eq!(small.entries.first().map(ToString::to_string).as_deref(), Some("1-0"));
}

#[test]
fn a_disk_without_room_is_read_and_written_again_when_there_is_room() {
    static FREE: AtomicU64 = AtomicU64::new(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Embedded::open(&path).unwrap());
    let reserve = folder.path().join("store.db.reserve");
    assert_eq!(std::fs::metadata(&reserve).unwrap().len(), 1 << 20);

    // What a full disk does: SQLite gets its pages once the reserve is gone.
    let open = || match reserve.exists() {
        true => Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(SQLITE_IOERR_SHMSIZE), None).into()),
        false => schema::open_writer(&path),
    };
    let mut disk = Disk::new(&path).with_available(|_| Some(FREE.load(Ordering::Relaxed)));
    let (connection, opened) = disk.open(open).unwrap();
    let mut writer =
        Writer::new((connection, disk), &opened, (Arc::default(), Feed::new(Bounds::default()), Arc::default()))
            .unwrap();

    let full = commit_on(&mut writer, vec![count()]);
    assert!(matches!(full, Err(CommitError::Unavailable(Error::DiskFull(_)))), "{full:?}");
    let (reply, mut answer) = tokio::sync::oneshot::channel();
    writer.write(&mut [Request::LastEntry(Tenant::parse("u_a").unwrap(), "e".into(), reply)].into());
    assert!(answer.try_recv().unwrap().is_ok(), "reads go on");

    FREE.store(1 << 30, Ordering::Relaxed);
    assert_eq!(commit_on(&mut writer, vec![count()]).unwrap().counters, [1]);
    assert!(reserve.exists(), "it is kept for the next time");
}

#[test]
fn a_full_disk_without_a_reserve_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let full = || -> Result<(), Error> {
        Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(SQLITE_IOERR_SHMSIZE), None).into())
    };

    assert!(matches!(Disk::new(&folder.path().join("store.db")).open(full), Err(Error::DiskFull(_))));
}

fn lease_on(writer: &mut Writer, now_ms: u64) -> (Vec<u64>, Vec<String>) {
    let (jobs, mut leased_jobs) = tokio::sync::oneshot::channel();
    let (timers, mut leased_timers) = tokio::sync::oneshot::channel();
    let request = LeaseRequest { now_ms, lease_ms: 100, max: 9 };
    let everywhere = || Partition::all(crate::PARTITIONS);
    let requests = [
        Request::LeaseJobs(everywhere(), request, Shares::default(), jobs),
        Request::LeaseTimers(everywhere(), request, timers),
    ];
    writer.write(&mut requests.into());
    let jobs = leased_jobs.try_recv().unwrap().unwrap().items.into_iter().map(|(_, lease)| lease.job.0);
    let timers = leased_timers.try_recv().unwrap().unwrap().items.into_iter().map(|(_, lease)| lease.timer);
    (jobs.collect(), timers.collect())
}

#[test]
fn a_failed_transaction_ends_no_lease() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = bare_writer(&folder, ("max_page_count", 1));
    let timer = Op::SetTimer { timer: "t".into(), due_ms: 1, schedule: text("s") };
    let lane = Some("lane");
    let work = vec![job(lane, 1, "under way"), job(lane, 1, "next"), held_job("accepted", 1, 500), timer];
    commit_on(&mut writer, work).unwrap();
    assert_eq!(lease_on(&mut writer, 10), (vec![1], vec!["t".into()]));
    let value = Bytes::from(vec![0; 100_000]);
    let large = Op::Append { emitter: "e".into(), stream: "s".into(), value, keep: 9 };

    commit_on(&mut writer, vec![large]).unwrap_err();

    assert_eq!(lease_on(&mut writer, 109), (vec![], vec![]));
    assert_eq!(lease_on(&mut writer, 110), (vec![1], vec!["t".into()]));
    assert_eq!(lease_on(&mut writer, 500), (vec![1, 3], vec!["t".into()]));
}

#[test]
fn a_read_only_database_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = bare_writer(&folder, ("query_only", 1));

    let refused = commit_on(&mut writer, vec![count()]);

    assert!(matches!(refused, Err(CommitError::Unavailable(Error::ReadOnly(_)))), "{refused:?}");
}

#[test]
fn a_second_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let _first = open(&folder);

    let second = Embedded::open(&folder.path().join("store.db"));

    assert!(matches!(second, Err(Error::InUse { .. })));
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Embedded::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();

    let newer = Embedded::open(&path);

    assert!(matches!(newer, Err(Error::NewerSchema { found: 99, known }) if known == schema::known()));
}

#[tokio::test]
async fn a_layout_that_is_newer_than_what_is_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settle = async |reads: u32| open(&folder).settle_layout(reads).await;

    assert_eq!((settle(1).await.unwrap(), settle(3).await.unwrap(), settle(3).await.unwrap()), (1, 3, 3));
    let older = settle(2).await;

    assert!(matches!(older, Err(Error::NewerLayout { written: 3, reads: 2 })), "{older:?}");
}

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::fs::write(&path, "surely not a database, but long enough to look at".repeat(100)).unwrap();

    assert!(matches!(Embedded::open(&path), Err(Error::Corrupt(_))));
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    assert!(matches!(Embedded::open(Path::new("/nowhere/at/all/store.db")), Err(Error::Folder { .. })));
}

#[tokio::test]
async fn a_store_that_is_closed_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    let tenant = Tenant::parse("u_1").unwrap();
    store.commit(Batch::new(&tenant, 1).then(count())).await.unwrap();
    store.counters(&tenant, &["n".into()]).await.unwrap();
    assert!(folder.path().join("store.db-wal").exists());

    drop(store);

    assert!(!folder.path().join("store.db-wal").exists());
}

/// Paused runs of workflows: a record and a timer each.
#[tokio::test]
async fn a_hundred_thousand_timers_are_found_again_and_leased_when_they_are_due() {
    const RUNS: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let world = world(&folder);
    let numbers: Vec<u64> = (0..RUNS).collect();
    for some in numbers.chunks(20_000) {
        let pause = |run: &u64| {
            let (id, due_ms) = (format!("run-{run:07}"), 1000 + run / 100);
            let put = Op::PutRecord { kind: "workflow_run".into(), id: id.clone(), alias: None, value: text("paused") };
            [put, Op::SetTimer { timer: id, due_ms, schedule: text("run") }]
        };
        world.commit(some.iter().flat_map(pause).collect()).await;
    }

    let world = reopen(world, &folder);

    let due = async |now_ms: u64| {
        let request = LeaseRequest { now_ms, lease_ms: 60_000, max: 1000 };
        world.store.lease_timers(&world.partition(), request).await.unwrap().items.len()
    };
    assert_eq!((due(999).await, due(1000).await, due(1000).await, due(1002).await), (0, 100, 0, 200));
    assert_eq!(world.store.records(&world.tenant, "workflow_run", Page::newest(1)).await.unwrap().total, RUNS);
}
