//! Key-value scopes, counters and the directory.

use super::{World, text};
use crate::{At, CommitError, DirectoryWrite, Op, Precondition};

fn set(key: &str, value: &str, cap_bytes: u64) -> Op {
    Op::SetValue { scope: "dc_1".into(), key: key.into(), value: text(value), cap_bytes }
}

fn remove(key: &str) -> Op {
    Op::RemoveValue { scope: "dc_1".into(), key: key.into() }
}

fn count(counter: &str, amount: i64) -> Op {
    Op::Count { counter: counter.into(), amount, expires_ms: None }
}

async fn values(world: &World, keys: &[&str]) -> (Vec<Option<String>>, u64) {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let found = world.store.values(&world.tenant, "dc_1", &keys).await.unwrap();
    let texts = found.found.into_iter().map(|value| value.map(|value| String::from_utf8(value.to_vec()).unwrap()));
    (texts.collect(), found.size_bytes)
}

pub(crate) async fn values_are_set_read_and_removed(world: World) {
    assert_eq!(values(&world, &["a"]).await, (vec![None], 0));

    world.commit(vec![set("a", "one", 99), set("bb", "two", 99), set("a", "three", 99)]).await;
    assert_eq!(values(&world, &["bb", "x", "a"]).await, (vec![Some("two".into()), None, Some("three".into())], 11));
    assert_eq!(values(&world, &[]).await, (vec![], 11));

    world.commit(vec![remove("a"), remove("x")]).await;
    assert_eq!(values(&world, &["a", "bb"]).await, (vec![None, Some("two".into())], 5));
    world.commit(vec![remove("bb")]).await;
    assert_eq!(values(&world, &["bb"]).await, (vec![None], 0));
}

pub(crate) async fn keys_are_listed_in_their_order(world: World) {
    world.commit(vec![set("b", "12", 99), set("a", "1", 99), set("c", "", 99), set("B", "123", 99)]).await;
    let keys = async |after: Option<&str>, limit| {
        let listed = world.store.keys(&world.tenant, "dc_1", after, limit).await.unwrap();
        let found: Vec<_> = listed.found.into_iter().map(|info| (info.key, info.size_bytes)).collect();
        (found, listed.total)
    };
    let named = |named: &[(&str, u64)]| named.iter().map(|(key, size)| ((*key).to_owned(), *size)).collect::<Vec<_>>();

    assert_eq!(keys(None, 3).await, (named(&[("B", 3), ("a", 1), ("b", 2)]), 4));
    assert_eq!(keys(Some("b"), 3).await, (named(&[("c", 0)]), 4));
    let foreign = world.store.keys(&world.neighbour, "dc_1", None, 10).await.unwrap();
    assert_eq!((foreign.found.len(), foreign.total), (0, 0));
}

pub(crate) async fn a_scope_is_filled_to_its_cap_and_not_beyond(world: World) {
    world.commit(vec![set("k", "123", 10), set("l", "12345", 10)]).await;

    let refused = world.try_commit(1, vec![], vec![set("m", "", 99), set("k", "1234", 10)]).await;

    let Err(CommitError::OverCap { operation, size_bytes, cap_bytes }) = refused else { panic!("{refused:?}") };
    assert_eq!((operation, size_bytes, cap_bytes), (1, 12, 10));
    assert_eq!(values(&world, &["k", "m"]).await, (vec![Some("123".into()), None], 10));
    world.commit(vec![remove("l"), set("m", "12345", 10)]).await;
    assert_eq!(values(&world, &[]).await.1, 10);
}

pub(crate) async fn a_scope_over_its_cap_may_shrink(world: World) {
    world.commit(vec![set("k", "1234567890", 99)]).await;

    world.commit(vec![set("k", "12345678", 5)]).await;
    let refused = world.try_commit(1, vec![], vec![set("k", "123456789", 5)]).await;

    assert!(matches!(refused, Err(CommitError::OverCap { size_bytes: 10, .. })), "{refused:?}");
    assert_eq!(values(&world, &[]).await.1, 9);
}

pub(crate) async fn a_scope_is_cleared_in_bounded_steps(world: World) {
    let clear = |max| vec![Op::ClearScope { scope: "dc_1".into(), max }];
    world.commit(vec![set("a", "1", 99), set("ä", "22", 99), set("c", "333", 99)]).await;

    assert_eq!(world.commit(clear(2)).await.removed, [2]);
    assert_eq!(world.commit(clear(2)).await.removed, [1]);
    assert_eq!(values(&world, &["a", "ä", "c"]).await, (vec![None, None, None], 0));
    assert_eq!(world.commit(clear(2)).await.removed, [0]);
}

fn value_is(key: &str, value: Option<&str>) -> Precondition {
    Precondition::ValueIs { scope: "dc_1".into(), key: key.into(), value: value.map(text) }
}

pub(crate) async fn a_batch_requires_the_values_that_were_read(world: World) {
    world.commit(vec![set("a", "1", 99), set("empty", "", 99)]).await;
    let cases = [
        (value_is("a", Some("1")), true),
        (value_is("a", Some("2")), false),
        (value_is("a", None), false),
        (value_is("x", None), true),
        (value_is("x", Some("")), false),
        (value_is("empty", Some("")), true),
        (value_is("empty", None), false),
    ];

    for (precondition, holds) in cases {
        let outcome =
            world.try_commit(1, vec![value_is("x", None), precondition.clone()], vec![set("b", "1", 99)]).await;

        let refused = matches!(outcome, Err(CommitError::Conflict { at: At::Precondition(1) }));
        assert_eq!((outcome.is_ok(), refused), (holds, !holds), "{precondition:?}");
    }
    world.commit(vec![set("a", "2", 99)]).await;
    world.commit(vec![set("a", "1", 99)]).await;
    assert!(world.try_commit(1, vec![value_is("a", Some("1"))], vec![]).await.is_ok(), "changed back");
}

async fn commit_as(world: &World, owner: &str, now_ms: u64, operations: Vec<Op>) -> Result<(), CommitError> {
    let mut batch = world.batch(now_ms);
    batch.lock_owner = Some(owner.to_owned());
    batch.operations = operations;
    world.store.commit(batch).await.map(drop)
}

fn lock(key: &str, until_ms: u64) -> Op {
    Op::Lock { scope: "dc_1".into(), key: key.into(), until_ms }
}

fn unlock() -> Op {
    Op::Unlock { scope: "dc_1".into() }
}

pub(crate) async fn a_locked_value_is_written_by_its_owner_alone(world: World) {
    commit_as(&world, "first", 10, vec![lock("a", 50), lock("b", 50)]).await.unwrap();
    let elsewhere = Op::SetValue { scope: "dc_2".into(), key: "a".into(), value: text("1"), cap_bytes: 99 };

    for operation in [set("a", "1", 99), remove("b"), lock("b", 90)] {
        let refused = commit_as(&world, "second", 10, vec![set("c", "1", 99), operation]).await;
        assert!(matches!(refused, Err(CommitError::Locked { operation: 1 })), "{refused:?}");
    }
    let refused = world.try_commit(10, vec![], vec![set("a", "1", 99)]).await;

    assert!(matches!(refused, Err(CommitError::Locked { operation: 0 })), "{refused:?}");
    assert_eq!(values(&world, &["a", "c"]).await.0, [None, None], "a refused batch leaves nothing");
    commit_as(&world, "second", 10, vec![set("c", "1", 99), elsewhere]).await.unwrap();
    commit_as(&world, "first", 10, vec![set("a", "1", 99), lock("a", 60), unlock()]).await.unwrap();
    assert_eq!(values(&world, &["a"]).await.0, [Some("1".into())]);
}

pub(crate) async fn a_lock_ends_with_its_time_or_its_unlock(world: World) {
    commit_as(&world, "first", 10, vec![lock("a", 50), lock("b", 50)]).await.unwrap();

    assert!(commit_as(&world, "second", 49, vec![set("a", "1", 99)]).await.is_err());
    commit_as(&world, "second", 50, vec![lock("a", 90)]).await.unwrap();
    commit_as(&world, "first", 50, vec![unlock()]).await.unwrap();
    commit_as(&world, "third", 20, vec![set("b", "1", 99)]).await.unwrap();
    assert!(commit_as(&world, "third", 20, vec![set("a", "1", 99)]).await.is_err(), "taken over by the second");
    commit_as(&world, "second", 50, vec![unlock()]).await.unwrap();
    commit_as(&world, "third", 50, vec![set("a", "3", 99)]).await.unwrap();
}

pub(crate) async fn counters_add_up_and_saturate(world: World) {
    let end = (1 << 53) - 1;
    let names = ["runs".to_owned(), "never".to_owned()];

    assert_eq!(world.commit(vec![count("runs", 2), count("runs", -5)]).await.counters, [2, -3]);
    assert_eq!(world.store.counters(&world.tenant, &names).await.unwrap(), [-3, 0]);
    assert_eq!(
        world.commit(vec![count("runs", i64::MAX), count("runs", 3), count("runs", 1)]).await.counters,
        [end - 3, end, end]
    );
    assert_eq!(world.commit(vec![count("runs", i64::MIN), count("runs", i64::MIN)]).await.counters, [0, -end]);

    let day = Op::Count { counter: "day".into(), amount: 1, expires_ms: Some(86_400_000) };
    assert_eq!(world.commit(vec![day.clone(), day]).await.counters, [1, 2]);
}

pub(crate) async fn a_counter_below_its_limit_lets_a_batch_through(world: World) {
    let below = |limit| vec![Precondition::CounterBelow { counter: "runs".into(), limit }];

    assert!(world.try_commit(1, below(1), vec![count("runs", 1)]).await.is_ok());
    let refused = world.try_commit(1, below(1), vec![count("runs", 1)]).await;
    assert!(matches!(refused, Err(CommitError::Conflict { at: At::Precondition(0) })), "{refused:?}");
    assert!(world.try_commit(1, below(2), vec![count("runs", 1)]).await.is_ok());
}

pub(crate) async fn directory_entries_are_put_claimed_and_removed(world: World) {
    let key = format!("key:{}", world.tenant);
    let write = |write| world.store.write_directory(write);
    let put = |value: &str| DirectoryWrite::Put { key: key.clone(), value: text(value) };
    let claim = |value: &str| DirectoryWrite::Claim { key: key.clone(), value: text(value) };

    assert_eq!(world.store.look_up(&key).await.unwrap(), None);
    assert!(write(claim("a")).await.unwrap());
    assert!(write(claim("a")).await.unwrap());
    assert!(!write(claim("b")).await.unwrap());
    assert_eq!(world.store.look_up(&key).await.unwrap(), Some(text("a")));
    assert!(write(put("c")).await.unwrap());
    assert_eq!(world.store.look_up(&key).await.unwrap(), Some(text("c")));
    assert!(write(DirectoryWrite::Remove { key: key.clone() }).await.unwrap());
    assert_eq!(world.store.look_up(&key).await.unwrap(), None);
}
