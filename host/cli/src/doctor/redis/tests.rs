//! Tests of what is said about a Redis.

use super::{RedisSettings, judge_disk, judge_memory, nodes};
use crate::doctor::Level;

fn durable() -> RedisSettings {
    RedisSettings {
        appends: Some(true),
        syncs: Some("always".into()),
        can_write: true,
        maximum_bytes: Some(1 << 30),
        eviction: Some("noeviction".into()),
    }
}

#[test]
fn a_redis_that_may_lose_what_it_accepted_is_told_with_the_command_that_mends_it() {
    let check = |change: fn(&mut RedisSettings), level: Level, advice: Option<&str>| {
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
        judge_memory(&RedisSettings { maximum_bytes, eviction: eviction.map(str::to_owned), ..durable() }).level
    };

    assert_eq!(level(Some(1 << 30), Some("noeviction")), Level::Ok);
    assert_eq!(level(Some(0), Some("allkeys-lru")), Level::Ok);
    assert_eq!(level(Some(1), Some("allkeys-lru")), Level::Fail);
    assert_eq!(level(Some(1), Some("volatile-ttl")), Level::Fail);
    assert_eq!(level(None, None), Level::Warn);
}

#[test]
fn every_node_of_a_cluster_is_asked_with_the_same_password() {
    assert_eq!(nodes("redis://:p@a:1/3"), ["redis://:p@a:1/3"]);
    assert_eq!(nodes("redis+cluster://u:p@a:1,b:2/"), ["redis://u:p@a:1", "redis://u:p@b:2"]);
    assert_eq!(nodes("redis+cluster://a:1"), ["redis://a:1"]);
}
