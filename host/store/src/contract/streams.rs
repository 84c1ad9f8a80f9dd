//! Streams: ids, retention, reading and deleting.

use std::sync::Arc;

use super::{World, brackets, part, text};
use crate::{CommitError, EntryId, EntryQuery, Live, LiveEntry, MAX_PAGE, Op, Order, Precondition, Taken};

fn append(stream: &str, value: &str, keep: u32) -> Op {
    Op::Append { emitter: "dc_1".into(), stream: stream.into(), value: text(value), keep }
}

fn delete(stream: &str, first: Option<EntryId>, last: Option<EntryId>, max: u32) -> Op {
    Op::DeleteEntries { emitter: "dc_1".into(), stream: stream.into(), first, last, max }
}

async fn read(world: &World, stream: &str, query: EntryQuery) -> Vec<String> {
    let found = world.store.entries(&world.tenant, "dc_1", stream, query).await.unwrap();
    found.into_iter().map(|entry| String::from_utf8(entry.value.to_vec()).unwrap()).collect()
}

async fn counts(world: &World) -> Vec<(String, u64)> {
    let streams = world.store.streams(&world.tenant, "dc_1").await.unwrap();
    streams.into_iter().map(|stream| (stream.name, stream.count)).collect()
}

pub(crate) async fn ids_increase_over_all_streams_of_an_emitter(world: World) {
    let operations = || vec![append("default", "", 9), append("$errors", "", 9), append("default", "", 9)];
    let mut ids = Vec::new();
    for now_ms in [5000, 5000, 4000, 5001] {
        ids.extend(world.try_commit(now_ms, vec![], operations()).await.unwrap().entries);
    }

    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(texts.first().map(String::as_str), Some("5000-0"));
    assert_eq!(texts.last().map(String::as_str), Some("5001-2"));
    assert_eq!(texts.get(8).map(String::as_str), Some("5000-8"));
    assert!(ids.is_sorted() && ids.len() == 12);
    assert_eq!(counts(&world).await, [("$errors".into(), 4), ("default".into(), 8)]);
}

pub(crate) async fn a_stream_keeps_its_newest_entries(world: World) {
    world.commit(["1", "2", "3"].map(|value| append("default", value, 3)).to_vec()).await;
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await, ["3", "2", "1"]);

    world.commit(vec![append("default", "4", 3), append("other", "x", 1)]).await;
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await, ["4", "3", "2"]);
    world.commit(vec![append("default", "5", 1)]).await;
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await, ["5"]);
    world.commit(vec![append("default", "6", 0)]).await;

    assert_eq!(counts(&world).await, [("default".into(), 0), ("other".into(), 1)]);
}

pub(crate) async fn entries_are_read_both_ways_from_any_id(world: World) {
    let ids = world.commit(["1", "2", "3", "4"].map(|value| append("default", value, 9)).to_vec()).await.entries;
    let id = |n: usize| ids.get(n).copied();
    let oldest = |first, last, limit| EntryQuery { first, last, order: Order::OldestFirst, limit };
    let newest = |first, last, limit| EntryQuery { first, last, order: Order::NewestFirst, limit };

    assert_eq!(read(&world, "default", EntryQuery::newest(2)).await, ["4", "3"]);
    assert_eq!(read(&world, "default", oldest(None, None, 2)).await, ["1", "2"]);
    assert_eq!(read(&world, "default", oldest(id(1), id(2), 9)).await, ["2", "3"]);
    assert_eq!(read(&world, "default", newest(id(1), id(2), 9)).await, ["3", "2"]);
    assert_eq!(read(&world, "default", EntryQuery::after(id(2).unwrap(), 9)).await, ["4"]);
    assert_eq!(read(&world, "default", EntryQuery::only(id(0).unwrap())).await, ["1"]);
    assert_eq!(read(&world, "default", EntryQuery::newest(0)).await, Vec::<String>::new());
    assert_eq!(read(&world, "unknown", EntryQuery::newest(9)).await, Vec::<String>::new());

    let many = MAX_PAGE + 1;
    world.commit((0..many).map(|_| append("many", "", many)).collect()).await;
    assert_eq!(read(&world, "many", EntryQuery::newest(u32::MAX)).await.len(), MAX_PAGE as usize);
}

pub(crate) async fn a_range_is_deleted_in_bounded_steps(world: World) {
    let values = ["1", "2", "3", "4", "5", "6"];
    let ids = world.commit(values.map(|value| append("default", value, 9)).to_vec()).await.entries;
    let id = |n: usize| ids.get(n).copied();

    let first = world.commit(vec![delete("default", id(1), id(3), 2)]).await.removed;
    let second = world.commit(vec![delete("default", id(1), id(3), 2), delete("unknown", None, None, 9)]).await.removed;
    assert_eq!((first, second), (vec![2], vec![1, 0]));
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await, ["6", "5", "1"]);

    assert_eq!(world.commit(vec![delete("default", id(4), id(4), 9)]).await.removed, [1]);
    assert_eq!(world.commit(vec![delete("default", id(5), None, 9)]).await.removed, [1]);
    assert_eq!(world.commit(vec![delete("default", None, id(5), 9)]).await.removed, [1]);
    assert_eq!(counts(&world).await, [("default".into(), 0)]);
}

pub(crate) async fn ids_go_on_after_everything_was_deleted(world: World) {
    let before = world.try_commit(9000, vec![], vec![append("default", "1", 9)]).await.unwrap().entries;
    world.commit(vec![delete("default", None, None, 9)]).await;

    let after = world.try_commit(8000, vec![], vec![append("default", "2", 9)]).await.unwrap().entries;

    assert!(after > before, "{after:?} follows {before:?}");
}

pub(crate) async fn a_dropped_emitter_leaves_nothing(world: World) {
    let drop = |max| vec![Op::DropEmitter { emitter: "dc_1".into(), max }];
    world.commit(vec![append("a", "1", 9), append("a", "2", 9), append("b", "3", 9), append("b", "4", 9)]).await;

    assert_eq!(world.commit(drop(3)).await.removed, [3]);
    assert_eq!(counts(&world).await, [("a".into(), 0), ("b".into(), 1)]);
    assert_eq!(world.commit(drop(3)).await.removed, [1]);
    assert_eq!(counts(&world).await, []);

    let mut again = drop(9);
    again.push(append("a", "new", 9));
    assert_eq!(world.commit(again).await.removed, [0]);
    assert_eq!(read(&world, "a", EntryQuery::newest(9)).await, ["new"]);
}

async fn next(live: &mut Live) -> Option<Arc<LiveEntry>> {
    live.ready().await;
    match live.take() {
        Some(Taken::Entry(entry)) => Some(entry),
        _ => None,
    }
}

pub(crate) async fn a_reader_gets_everything_that_is_committed_whatever_is_kept(world: World) {
    const MANY: usize = 10_000;
    world.commit(vec![append("default", "before", 9)]).await;
    let mut live = world.store.follow(&world.tenant, "dc_1").await.unwrap();
    let mut also = world.store.follow(&world.tenant, "dc_1").await.unwrap();
    let last = world.store.last_entry(&world.tenant, "dc_1").await.unwrap();
    let streams = ["default", "$logs", "ü:%"];
    let stream = |number: usize| streams.get(number % 3).copied().unwrap_or_default();

    let appends = (0..MANY).map(|number| append(stream(number), &number.to_string(), 2));
    let ids = world.commit(appends.collect()).await.entries;
    world.store.commit(crate::Batch::new(&world.neighbour, 1).then(append("default", "not yours", 9))).await.unwrap();

    for reader in [&mut live, &mut also] {
        for (number, id) in ids.iter().enumerate() {
            let mut entry = next(reader).await.unwrap();
            if Some(entry.id) <= last {
                entry = next(reader).await.unwrap();
            }
            let found = (entry.id, entry.stream.as_str(), &entry.value[..]);
            assert_eq!(found, (*id, stream(number), number.to_string().as_bytes()));
        }
        assert!(!reader.is_ready());
    }
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await.len(), 2);
}

pub(crate) async fn readers_see_commits_in_their_order(world: World) {
    const WRITERS: usize = 20;
    const EACH: usize = 90;
    let world = Arc::new(world);
    let mut live = world.store.follow(&world.tenant, "dc_1").await.unwrap();
    let write = |writer: usize| {
        let world = world.clone();
        tokio::spawn(async move {
            let appends = (0..EACH).map(|number| append("default", &format!("{writer} {number}"), 9));
            world.commit(appends.collect()).await.entries
        })
    };

    let writers: Vec<_> = (0..WRITERS).map(write).collect();
    let mut committed = Vec::new();
    for writer in writers {
        committed.extend(writer.await.unwrap());
    }
    committed.sort_unstable();
    let mut seen = Vec::new();
    for _ in 0..WRITERS * EACH {
        seen.push(next(&mut live).await.unwrap().id);
    }

    assert_eq!(seen, committed);
}

pub(crate) async fn a_reader_that_is_too_slow_is_told(world: World) {
    const LARGE: usize = 1 << 20;
    let large =
        || Op::Append { emitter: "dc_1".into(), stream: "default".into(), value: vec![0; LARGE].into(), keep: 1 };
    let mut slow = world.store.follow(&world.tenant, "dc_1").await.unwrap();
    let mut quick = world.store.follow(&world.tenant, "dc_1").await.unwrap();

    for _ in 0..40 {
        world.commit(vec![large()]).await;
        assert!(next(&mut quick).await.is_some());
    }

    assert!(next(&mut slow).await.is_none());
    let mut new = world.store.follow(&world.tenant, "dc_1").await.unwrap();
    let id = world.commit(vec![append("default", "after", 9)]).await.entries;
    assert_eq!(next(&mut new).await.map(|entry| entry.id), id.first().copied());
}

pub(crate) async fn the_last_entry_is_known_when_it_is_gone(world: World) {
    let last = || world.store.last_entry(&world.tenant, "dc_1");
    assert_eq!(last().await.unwrap(), None);
    let ids = world.commit(vec![append("a", "1", 9), append("b", "2", 9)]).await.entries;

    world.commit(vec![delete("b", None, None, 9)]).await;

    assert_eq!(last().await.unwrap().as_ref(), ids.last());
    assert_eq!(world.store.last_entry(&world.neighbour, "dc_1").await.unwrap(), None);
}

/// Whatever batches meet: each part is there once, in order, and what is kept is counted in entries.
pub(crate) async fn parts_of_entries_are_never_stored_as_they_are(world: World) {
    let mut batch = world.batch(1000).then(append("default", "whole", 9));
    batch.parts = vec![part("dc_1", "a", 9), part("dc_1", "b", 9)];
    world.store.commit(batch).await.unwrap();

    let mut found = read(&world, "default", EntryQuery::after(EntryId::FIRST, 9)).await;
    assert_eq!(found.remove(0), "whole");
    assert!(found.iter().all(|value| value.starts_with('<') && value.ends_with('>')), "{found:?}");
    let parts: Vec<_> = found.iter().flat_map(|value| brackets(value)).collect();
    assert_eq!(parts, ["a", "b"]);

    let mut batch = world.batch(1000);
    batch.parts = vec![part("dc_1", "c", 1)];
    world.store.commit(batch).await.unwrap();
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await, ["<c>"]);
}

pub(crate) async fn a_refused_batch_leaves_no_part_of_an_entry(world: World) {
    let never = Precondition::CounterBelow { counter: "runs".into(), limit: 0 };
    let mut refused = world.batch(1000).require(never);
    refused.parts = vec![part("dc_1", "refused", 9)];
    let mut unusable = world.batch(1000);
    unusable.parts = vec![part("dc_1", "", 9)];

    let refused = world.store.commit(refused).await;
    let unusable = world.store.commit(unusable).await;

    assert!(matches!(refused, Err(CommitError::Conflict { .. })), "{refused:?}");
    assert!(matches!(unusable, Err(CommitError::Unavailable(_))), "nothing can be made of it: {unusable:?}");
    assert_eq!(read(&world, "default", EntryQuery::newest(9)).await, Vec::<String>::new());
}
