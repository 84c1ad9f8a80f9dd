//! Tests of what is said about a Redis.

use store::Keeping;

use super::{judge, judge_disk, judge_memory, judge_replicas};
use crate::doctor::Level;

fn durable() -> Keeping {
    Keeping {
        appends: Some(true),
        syncs: Some("always".into()),
        can_write: true,
        maximum_bytes: Some(1 << 30),
        eviction: Some("noeviction".into()),
        replicas: Some(1),
    }
}

#[test]
fn a_redis_that_may_lose_what_it_accepted_is_told_with_the_command_that_mends_it() {
    let check = |change: fn(&mut Keeping), level: Level, advice: Option<&str>| {
        let mut keeping = durable();
        change(&mut keeping);
        let found = judge_disk(&keeping);
        assert_eq!(found.level, level, "{found:?}");
        assert_eq!(advice.is_some(), found.advice.is_some(), "{found:?}");
        assert!(found.advice.unwrap_or_default().contains(advice.unwrap_or_default()));
    };

    check(|_| (), Level::Ok, None);
    check(|keeping| keeping.appends = Some(false), Level::Warn, Some("CONFIG SET appendonly yes"));
    check(|keeping| keeping.syncs = Some("everysec".into()), Level::Warn, Some("CONFIG SET appendfsync always"));
    check(|keeping| keeping.syncs = Some("no".into()), Level::Warn, Some("CONFIG SET appendfsync always"));
    check(|keeping| keeping.syncs = None, Level::Warn, Some("appendonly is yes"));
    check(|keeping| keeping.can_write = false, Level::Fail, Some("disk is full"));
}

#[test]
fn a_redis_that_evicts_data_fails_unless_it_has_no_limit() {
    let level = |maximum_bytes: Option<u64>, eviction: Option<&str>| {
        judge_memory(&Keeping { maximum_bytes, eviction: eviction.map(str::to_owned), ..durable() }).level
    };

    assert_eq!(level(Some(1 << 30), Some("noeviction")), Level::Ok);
    assert_eq!(level(Some(0), Some("allkeys-lru")), Level::Ok);
    assert_eq!(level(Some(1), Some("allkeys-lru")), Level::Fail);
    assert_eq!(level(Some(1), Some("volatile-ttl")), Level::Fail);
    assert_eq!(level(None, None), Level::Warn);
}

#[test]
fn a_replica_is_looked_for_when_commits_wait_for_one() {
    let level = |replicas: Option<u64>| judge_replicas(&Keeping { replicas, ..durable() }).level;

    assert_eq!((level(Some(0)), level(Some(1)), level(None)), (Level::Fail, Level::Ok, Level::Warn));
    assert_eq!(judge(&durable(), false).len() + 1, judge(&durable(), true).len());
}
