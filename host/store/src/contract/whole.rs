//! A batch as a whole: atomic, concurrent with others, and waking the tasks that wait for it.

use std::sync::Arc;

use bytes::Bytes;

use super::{World, job, leases, text};
use crate::{
    CommitError, Enqueue, EntryQuery, LanePosition, LeaseRequest, Lookup, MAX_OPERATIONS, Op, Page, Precondition,
};

fn put(id: &str, alias: Option<&str>) -> Op {
    Op::PutRecord { kind: "k".into(), id: id.into(), alias: alias.map(Into::into), value: text(id) }
}

fn append() -> Op {
    Op::Append { emitter: "e".into(), stream: "default".into(), value: text("x"), keep: 9 }
}

fn count() -> Op {
    Op::Count { counter: "runs".into(), amount: 1, expires_ms: None }
}

pub(crate) async fn a_refused_batch_leaves_nothing_behind(world: World) {
    world.commit(vec![put("owner", Some("taken")), job(None, 0, "kept"), append()]).await;
    let lease = leases(&world.lease(1, 9).await).pop().unwrap();
    let operations = vec![
        put("new", Some("free")),
        append(),
        count(),
        job(None, 0, "never"),
        Op::SetValue { scope: "s".into(), key: "k".into(), value: text("v"), cap_bytes: 99 },
        Op::SetTimer { timer: "t".into(), due_ms: 0, schedule: Bytes::new() },
        Op::DeleteRecord { kind: "k".into(), id: "owner".into() },
        Op::DeleteEntries { emitter: "e".into(), stream: "default".into(), first: None, last: None, max: 9 },
        Op::Acknowledge(lease),
        put("owner", Some("taken")),
        put("thief", Some("taken")),
    ];

    let refused = world.try_commit(2, vec![], operations).await;

    assert!(matches!(refused, Err(CommitError::Conflict { .. })), "{refused:?}");
    let (store, tenant) = (&world.store, &world.tenant);
    assert_eq!(store.records(tenant, "k", Page::newest(9)).await.unwrap().total, 1);
    assert_eq!(store.record(tenant, "k", Lookup::Alias("taken")).await.unwrap().unwrap().version, 1);
    assert_eq!(store.entries(tenant, "e", "default", EntryQuery::newest(9)).await.unwrap().len(), 1);
    assert_eq!(store.counters(tenant, &["runs".into()]).await.unwrap(), [0]);
    assert_eq!(store.values(tenant, "s", &["k".into()]).await.unwrap().size_bytes, 0);
    let timers = store.lease_timers(&world.partition(), LeaseRequest { now_ms: 9, lease_ms: 1, max: 9 }).await.unwrap();
    assert_eq!(timers.items, vec![]);
    let jobs = world.lease(9, 9).await;
    assert_eq!((jobs.items, jobs.next_due_ms), (vec![], Some(101)));
    assert!(world.try_commit(3, vec![], vec![Op::Acknowledge(lease)]).await.is_ok());
    assert_eq!(world.lease(9999, 9).await.next_due_ms, None);
}

pub(crate) async fn what_a_tenant_keeps_is_measured(world: World) {
    let bytes = || world.store.stored_bytes(&world.tenant);
    let large = |letter: &str| text(&letter.repeat(10_000));
    assert_eq!(bytes().await.unwrap(), 0);

    let (emitter, stream) = (String::from("e:1"), String::from("default"));
    let append =
        |letter| Op::Append { emitter: emitter.clone(), stream: stream.clone(), value: large(letter), keep: 2 };
    let put = Op::PutRecord { kind: "k:1".into(), id: "a".into(), alias: None, value: large("r") };
    let set = Op::SetValue { scope: "s".into(), key: "k".into(), value: large("v"), cap_bytes: 99_999 };
    world.commit(vec![put.clone(), set.clone()]).await;
    assert_eq!(bytes().await.unwrap(), 20_001);
    world.commit(vec![put, set, append("a"), append("b"), append("c")]).await;
    let whole = bytes().await.unwrap();
    assert!((40_001..48_000).contains(&whole), "what was replaced and what is not kept is not counted: {whole}");
    assert_eq!(world.store.stored_bytes(&world.neighbour).await.unwrap(), 0);

    let delete = Op::DeleteRecord { kind: "k:1".into(), id: "a".into() };
    let remove = Op::RemoveValue { scope: "s".into(), key: "k".into() };
    world.commit(vec![delete, remove, Op::DropEmitter { emitter, max: 9 }]).await;
    assert_eq!(bytes().await.unwrap(), 0);
}

pub(crate) async fn the_same_lease_cannot_be_settled_twice_in_a_batch(world: World) {
    world.commit(vec![job(None, 0, "a")]).await;
    let lease = leases(&world.lease(1, 9).await).pop().unwrap();
    let again = Op::Reschedule { lease, due_ms: 5, payload: None, lane_position: LanePosition::Keep };

    for pair in [
        [Op::Acknowledge(lease), Op::Acknowledge(lease)],
        [again.clone(), again.clone()],
        [Op::Acknowledge(lease), again],
    ] {
        let refused = world.try_commit(1, vec![], pair.to_vec()).await;
        assert!(matches!(refused, Err(CommitError::LeaseLost)), "{refused:?}");
    }
    assert!(world.try_commit(1, vec![], vec![Op::Acknowledge(lease)]).await.is_ok());
}

pub(crate) async fn concurrent_commits_all_count(world: World) {
    let world = Arc::new(world);
    let committers = (0..16).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            for _ in 0..25 {
                world.commit(vec![count(), append()]).await;
            }
        })
    });

    for committer in committers.collect::<Vec<_>>() {
        committer.await.unwrap();
    }

    assert_eq!(world.store.counters(&world.tenant, &["runs".into()]).await.unwrap(), [400]);
    let entries = world.store.entries(&world.tenant, "e", "default", EntryQuery::newest(99)).await.unwrap();
    assert_eq!(entries.len(), 9);
    assert_eq!(entries.first().map(|entry| entry.id.sequence()), Some(399));
}

pub(crate) async fn one_of_many_creators_wins(world: World) {
    let world = Arc::new(world);
    let creators = (0..16).map(|_| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let absent = Precondition::RecordAbsent { kind: "k".into(), id: "a".into() };
            world.try_commit(1, vec![absent], vec![put("a", None), count()]).await.is_ok()
        })
    });

    let mut winners = 0;
    for creator in creators.collect::<Vec<_>>() {
        winners += usize::from(creator.await.unwrap());
    }

    assert_eq!(winners, 1);
    assert_eq!(world.store.counters(&world.tenant, &["runs".into()]).await.unwrap(), [1]);
}

pub(crate) async fn work_wakes_the_workers(world: World) {
    let mut work = world.store.pulse().work();
    work.mark_unchanged();

    world.commit(vec![append(), job(None, 0, "a")]).await;

    work.changed().await.unwrap();
}

pub(crate) async fn binary_values_and_odd_names_survive(world: World) {
    let bytes: Bytes = (0..=255).collect();
    let odd = "a:b{c}%\0 ü\n";
    let enqueue =
        Enqueue { lane: Some(odd.into()), due_ms: 0, payload: bytes.clone(), entry: None, held_until_ms: None };
    let operations = vec![
        Op::PutRecord { kind: odd.into(), id: odd.into(), alias: Some(odd.into()), value: bytes.clone() },
        Op::Append { emitter: odd.into(), stream: odd.into(), value: bytes.clone(), keep: 1 },
        Op::Append { emitter: "a".into(), stream: "b{c}".into(), value: Bytes::new(), keep: 1 },
        Op::SetValue { scope: odd.into(), key: odd.into(), value: bytes.clone(), cap_bytes: 999 },
        Op::Enqueue(enqueue),
        Op::SetTimer { timer: odd.into(), due_ms: 0, schedule: bytes.clone() },
    ];

    world.commit(operations).await;

    let (store, tenant) = (&world.store, &world.tenant);
    let record = store.record(tenant, odd, Lookup::Alias(odd)).await.unwrap().unwrap();
    assert_eq!((record.id.as_str(), record.alias.as_deref(), &record.value), (odd, Some(odd), &bytes));
    let entries = store.entries(tenant, odd, odd, EntryQuery::newest(9)).await.unwrap();
    assert_eq!(entries.into_iter().map(|entry| entry.value).collect::<Vec<_>>(), std::slice::from_ref(&bytes));
    assert_eq!(store.streams(tenant, odd).await.unwrap().first().map(|stream| stream.name.clone()), Some(odd.into()));
    assert_eq!(store.values(tenant, odd, &[odd.into()]).await.unwrap().found, [Some(bytes.clone())]);
    let job = world.lease(1, 9).await.items.pop().unwrap();
    assert_eq!((job.lane.as_deref(), &job.payload), (Some(odd), &bytes));
    let ticks = store.lease_timers(&world.partition(), LeaseRequest { now_ms: 1, lease_ms: 1, max: 9 }).await.unwrap();
    let tick = ticks.items.into_iter().next().unwrap();
    assert_eq!((tick.lease.timer.as_str(), tick.schedule), (odd, bytes));
}

pub(crate) async fn a_batch_of_the_greatest_size_is_applied(world: World) {
    let committed = world.commit(vec![job(None, 0, "x"); MAX_OPERATIONS]).await;

    assert_eq!(committed.jobs.len(), MAX_OPERATIONS);
    assert_eq!(world.lease(1, 1).await.next_due_ms, Some(1));
}
