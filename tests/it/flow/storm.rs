//! A short storm on each store; `just storm` is the long one.

use rig::storm::{Engine, Options, run};

async fn check(engine: Engine) {
    let report = run(Options { engine, kills: 5, seed: 5, kills_redis: false }).await;

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
