//! What only Redis needs: scripts that vanish, answers that are lost, servers that restart, other hosts.

mod availability;
mod hosts;
mod places;

use std::sync::Arc;

use ::redis::cmd;

use super::group::Member;
use super::{Redis, decode};
use crate::contract::servers::{Server, cluster_address, connect, free_port, namespace, server};
use crate::contract::{World, job, leases, payloads};
use crate::{Batch, CommitError, Op, Origin, Reads, Store, Taken, Tenant, Wake, Work};

fn count() -> Op {
    Op::Count { counter: "runs".into(), amount: 1, expires_ms: None }
}

fn append() -> Op {
    Op::Append { emitter: "e".into(), stream: "default".into(), value: "x".into(), keep: 9 }
}

fn tenant() -> Tenant {
    Tenant::parse("u_a").unwrap()
}

async fn shared() -> Redis {
    connect(&server().address(), &namespace()).await
}

async fn run(store: &Redis, batch: &Batch, name: &str) -> Result<crate::Committed, CommitError> {
    let prefix = store.prefix_of(&batch.tenant);
    let answers = store
        .groups
        .send(
            &format!("{prefix}:done:{name}"),
            1,
            &[Member::new(prefix, batch, batch.tenant.partition(store.partitions))],
        )
        .await?;
    decode::committed(&answers.concat(), &batch.operations)
}

#[tokio::test]
async fn a_commit_that_is_sent_again_is_applied_once() {
    let store = shared().await;
    let put = Op::PutRecord { kind: "k".into(), id: "a".into(), alias: None, value: "v".into() };
    let batch = Batch::new(&tenant(), 5).then(count()).then(append()).then(job(None, 0, "a")).then(put);

    let first = run(&store, &batch, "one").await.unwrap();
    let again = run(&store, &batch, "one").await.unwrap();
    let other = run(&store, &batch, "two").await.unwrap();

    assert_eq!(again, first);
    assert_eq!(first.counters, [1]);
    assert_eq!((other.counters, other.versions), (vec![2], vec![2]));
    assert_eq!(store.streams(&tenant(), "e").await.unwrap().first().map(|stream| stream.count), Some(2));
}

#[tokio::test]
async fn a_refused_commit_that_is_sent_again_stays_refused() {
    let store = shared().await;
    let below = crate::Precondition::CounterBelow { counter: "runs".into(), limit: 1 };
    let batch = Batch::new(&tenant(), 5).require(below).then(count());
    store.commit(Batch::new(&tenant(), 5).then(count())).await.unwrap();

    let refused = run(&store, &batch, "one").await;
    let back = Op::Count { counter: "runs".into(), amount: -1, expires_ms: None };
    store.commit(Batch::new(&tenant(), 5).then(back)).await.unwrap();

    assert!(matches!(refused, Err(CommitError::Conflict { .. })), "{refused:?}");
    let again = run(&store, &batch, "one").await;
    assert!(matches!(again, Err(CommitError::Conflict { .. })), "{again:?}");
    assert_eq!(run(&store, &batch, "two").await.unwrap().counters, [1]);
}

#[tokio::test]
async fn flushed_scripts_and_functions_are_sent_again() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;
    let commit = || store.commit(Batch::new(&tenant(), 1).then(count()));
    commit().await.unwrap();

    let () = store.link.ask(cmd("SCRIPT").arg("FLUSH")).await.unwrap();
    let () = store.link.ask(cmd("FUNCTION").arg("FLUSH")).await.unwrap();

    assert_eq!(commit().await.unwrap().counters, [2]);
    assert_eq!(store.streams(&tenant(), "e").await.unwrap(), []);
}

#[tokio::test]
async fn a_counter_expires_with_the_time_it_began_with() {
    let store = shared().await;
    let day = |expires_ms| Op::Count { counter: "day".into(), amount: 1, expires_ms };
    let key = format!("{}:counter:{}:day", store.prefix_of(&tenant()), tenant());

    store.commit(Batch::new(&tenant(), 1000).then(day(Some(61_000))).then(day(Some(61_000)))).await.unwrap();

    let lives_ms: i64 = store.link.ask(cmd("PTTL").arg(&key)).await.unwrap();
    assert!((1..=60_000).contains(&lives_ms), "{lives_ms}");
    store.commit(Batch::new(&tenant(), 1000).then(count())).await.unwrap();
    let key = format!("{}:counter:{}:runs", store.prefix_of(&tenant()), tenant());
    let lives_ms: i64 = store.link.ask(cmd("PTTL").arg(&key)).await.unwrap();
    assert_eq!(lives_ms, -1, "one without an end stays");
}

#[tokio::test]
async fn a_server_that_restarts_is_found_again() {
    let port = free_port();
    let first = Server::start(port, &[]);
    let store = connect(&first.address(), "ws").await;
    store.commit(Batch::new(&tenant(), 1).then(count())).await.unwrap();

    drop(first);
    let _second = Server::start(port, &[]);

    // Nothing was kept on disk in this test, so the count begins again: the connection is what counts.
    assert_eq!(store.commit(Batch::new(&tenant(), 1).then(count())).await.unwrap().counters, [1]);
}

#[tokio::test]
async fn a_server_that_is_gone_is_unavailable_within_bounds() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;
    drop(own);

    let answer = store.commit(Batch::new(&tenant(), 1).then(count())).await;

    assert!(matches!(answer, Err(CommitError::Unavailable(_))), "{answer:?}");
}

async fn check_pulse(address: &str) {
    let namespace = namespace();
    let here = connect(address, &namespace).await;
    let there = connect(address, &namespace).await;
    let (mut work, mut live) = (there.pulse().work(), there.follow(&tenant(), "e").await.unwrap());
    work.mark_unchanged();
    let partition = tenant().partition(here.partitions);

    // The host that committed it works on the first, and is told itself; the second is for whichever host looks then.
    here.commit(Batch::new(&tenant(), 1).then(job(None, 0, "now"))).await.unwrap();
    let later = here.commit(Batch::new(&tenant(), 1).then(append()).then(job(None, 60_000, "later"))).await.unwrap();

    work.changed().await.unwrap();
    let wake = |due_ms, origin| Wake { partition, due_ms, origin };
    assert_eq!(there.pulse().take().partitions, [wake(60_000, Origin::There)]);
    assert_eq!(here.pulse().take().partitions, [wake(0, Origin::Here)]);
    live.ready().await;
    let Some(Taken::Entry(entry)) = live.take() else { panic!("the entry") };
    assert_eq!((Some(&entry.id), &entry.value[..]), (later.entries.first(), &b"x"[..]));

    here.pulse().set_busy(true);
    work.mark_unchanged();
    here.commit(Batch::new(&tenant(), 1).then(job(None, 0, "now"))).await.unwrap();
    work.changed().await.unwrap();
    assert_eq!(there.pulse().take().partitions, [wake(0, Origin::Busy)]);
}

#[tokio::test]
async fn another_host_hears_of_work_and_events() {
    check_pulse(&server().address()).await;
}

#[tokio::test]
async fn another_host_of_a_cluster_hears_of_work_and_events() {
    check_pulse(&cluster_address()).await;
}

#[tokio::test]
async fn two_hosts_share_the_jobs_and_the_leases() {
    let namespace = namespace();
    let here = World::new(Arc::new(connect(&server().address(), &namespace).await), ());
    let there = World::new(Arc::new(connect(&server().address(), &namespace).await), ());
    here.commit(vec![job(None, 0, "a"), job(None, 0, "b")]).await;

    let first = here.lease(1, 1).await;
    let second = there.lease(1, 9).await;

    assert_eq!([payloads(&first), payloads(&second)].concat(), ["a", "b"]);
    there.commit(leases(&first).into_iter().map(Op::Acknowledge).collect()).await;
}

#[tokio::test]
async fn work_that_is_done_leaves_no_key_behind() {
    let own = Server::start(free_port(), &[]);
    let world = World::new(Arc::new(connect(&own.address(), "ws").await), ());
    world.commit(vec![job(Some("l"), 0, "a"), job(Some("l"), 0, "b"), job(None, 0, "c")]).await;
    for now_ms in [1, 2, 3] {
        let leased = world.lease(now_ms, 9).await;
        world.commit(leases(&leased).into_iter().map(Op::Acknowledge).collect()).await;
    }
    world.lease(4, 9).await;

    let store = connect(&own.address(), "ws").await;
    let mut keys: Vec<String> = store.link.ask(cmd("KEYS").arg("*")).await.unwrap();
    keys.retain(|key| !key.contains(":done:"));
    keys.sort();

    let prefix = store.prefix_of(&world.tenant);
    let sequences = ["jobs", "token", "turn"].map(|name| format!("{prefix}:{name}"));
    assert_eq!(keys, [&["ws:partitions".to_owned()][..], &sequences[..]].concat());
}

#[tokio::test]
async fn a_replica_that_takes_over_goes_on_where_the_first_server_ended() {
    let port = free_port();
    let first = Server::start(port, &[]);
    let replica = Server::start(free_port(), &["--replicaof", "127.0.0.1", &port.to_string()]);
    let store = connect(&first.address(), "ws").await;
    let world = World::new(Arc::new(connect(&first.address(), "ws").await), ());
    store.commit(Batch::new(&tenant(), 1).then(count()).then(append())).await.unwrap();
    world.commit(vec![job(None, 0, "held"), job(None, 0, "waiting")]).await;
    let held = world.lease(1, 1).await;
    let mut replicas = 0;
    while replicas == 0 {
        replicas = store.link.ask(cmd("WAIT").arg(1).arg(200)).await.unwrap();
    }

    drop(first);
    let client = ::redis::Client::open(replica.address()).unwrap();
    let mut promoted = client.get_multiplexed_async_connection().await.unwrap();
    let () = cmd("REPLICAOF").arg("NO").arg("ONE").query_async(&mut promoted).await.unwrap();
    // It takes over the address as well, as a name or a proxy would lead there.
    let () = cmd("CONFIG").arg("SET").arg("port").arg(port).query_async(&mut promoted).await.unwrap();

    let committing = async {
        loop {
            // Until the address leads to it, and the breaker lets a call through.
            match store.commit(Batch::new(&tenant(), 2).then(count()).then(append())).await {
                Ok(committed) => return committed,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let committed = tokio::time::timeout(std::time::Duration::from_secs(20), committing).await.unwrap();
    assert_eq!(committed.counters, [2]);
    assert_eq!(store.streams(&tenant(), "e").await.unwrap().first().map(|stream| stream.count), Some(2));
    assert_eq!(payloads(&world.lease(2, 9).await), ["waiting"], "what was leased stays leased");
    world.commit(leases(&held).into_iter().map(Op::Acknowledge).collect()).await;
}
