//! A short storm on each store; `just storm` is the long one.

use rig::redis::Arrangement;
use rig::storm::{Engine, Options, run};

async fn check(engine: Engine) {
    let report = run(Options { engine, kills: 5, seed: 5, kills_store: false }).await;

    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!(report.kills, 5);
    assert!(report.answered > 0 && report.deliveries > 0 && report.managed > 0, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_server_on_sqlite_is_killed() {
    check(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_server_on_redis_is_killed() {
    check(Engine::Redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_the_server_on_postgres_is_killed() {
    check(Engine::Postgres).await;
}

/// One fault of each kind.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_refused_when_hosts_are_killed_paused_cut_off_skewed_and_restarted() {
    let report = rig::storm::hosts::run(rig::storm::hosts::Options {
        hosts: 2,
        faults: 6,
        seed: 7,
        redis: Arrangement::Alone,
        is_apart: false,
        older: None,
    })
    .await;

    assert_eq!(report.violations, Vec::<String>::new());
    assert_eq!((report.faults, report.rolling_restarts, report.refused_in_rolling_restarts), (6, 1, 0));
    assert!(report.answered > 0 && report.ticks > 0 && report.requests_in_rolling_restarts > 0, "{report:?}");
}
