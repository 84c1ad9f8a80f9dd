//! Tests of live: what hosts tell each other, and what they notice when it does not come.

use ::redis::cmd;

use crate::contract::servers::{Server, cluster_address, connect, free_port, namespace, server};
use crate::redis::Redis;
use crate::{Batch, EntryId, Live, Op, Store, Taken, Tenant};

fn tenant() -> Tenant {
    Tenant::parse("u_a").unwrap()
}

async fn commit(store: &Redis, values: &[usize]) -> Vec<EntryId> {
    let append = |size: &usize| Op::Append {
        emitter: "e:%".into(),
        stream: "default".into(),
        value: vec![b'x'; *size].into(),
        keep: 1,
    };
    let mut batch = Batch::new(&tenant(), 1);
    batch.operations.extend(values.iter().map(append));
    store.commit(batch).await.unwrap().entries
}

async fn follow(store: &Redis) -> Live {
    store.follow(&tenant(), "e:%").await.unwrap()
}

/// The next entry; `None` for a loss.
async fn next(live: &mut Live) -> Option<EntryId> {
    live.ready().await;
    match live.take() {
        Some(Taken::Entry(entry)) => Some(entry.id),
        _ => None,
    }
}

async fn check_two_hosts(address: &str) {
    let namespace = namespace();
    let (here, there) = (connect(address, &namespace).await, connect(address, &namespace).await);
    let mut lives = [follow(&here).await, follow(&there).await];

    // In pieces of several entries, and one that is larger than a piece.
    let mut ids = commit(&here, &[40_000; 9]).await;
    ids.extend(commit(&there, &[0, 500_000, 1]).await);

    for live in &mut lives {
        for id in &ids {
            assert_eq!(next(live).await, Some(*id));
        }
    }
}

#[tokio::test]
async fn readers_of_every_host_get_what_any_host_commits() {
    check_two_hosts(&server().address()).await;
}

#[tokio::test]
async fn readers_of_every_host_of_a_cluster_get_what_any_host_commits() {
    check_two_hosts(&cluster_address()).await;
}

#[tokio::test]
async fn a_commit_without_readers_looks_once_and_tells_nothing() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;
    commit(&store, &[1]).await;
    let () = store.link.ask(cmd("CONFIG").arg("RESETSTAT")).await.unwrap();

    commit(&store, &[1; 5]).await;

    let stats: String = store.link.ask(cmd("INFO").arg("commandstats")).await.unwrap();
    assert!(stats.contains("cmdstat_exists:calls=1,"), "{stats}");
    assert!(!stats.contains("cmdstat_publish"), "{stats}");
}

#[tokio::test]
async fn what_was_not_published_is_noticed_with_the_next_message() {
    let store = connect(&server().address(), &namespace()).await;
    let mut live = follow(&store).await;
    let first = commit(&store, &[1]).await;
    assert_eq!(next(&mut live).await.as_ref(), first.first());

    // As when this host could not say in time that it is there.
    let key = format!("{}:live:u_a:e%3A%25", store.prefix_of(&tenant()));
    let mut taken = Vec::new();
    // Should the host say so again between two of these commands, both commits are published, and it is tried again.
    for _ in 0..10 {
        let _removed: u32 = store.link.ask(cmd("DEL").arg(&key)).await.unwrap();
        commit(&store, &[1]).await;
        let _another = follow(&store).await;
        commit(&store, &[1]).await;
        taken.push(next(&mut live).await);
        if taken.last() == Some(&None) {
            return;
        }
        taken.push(next(&mut live).await);
    }
    panic!("no loss was noticed: {taken:?}");
}

#[tokio::test]
async fn a_batch_that_is_too_large_for_a_message_is_a_loss_and_harms_no_other() {
    let store = connect(&server().address(), &namespace()).await;
    let (mut live, mut other) = (follow(&store).await, store.follow(&tenant(), "other").await.unwrap());

    commit(&store, &[1 << 20; 17]).await;
    let append = Op::Append { emitter: "other".into(), stream: "default".into(), value: "x".into(), keep: 1 };
    store.commit(Batch::new(&tenant(), 1).then(append)).await.unwrap();

    assert_eq!(next(&mut live).await, None);
    assert!(next(&mut other).await.is_some());
}

#[tokio::test]
async fn what_came_around_a_restart_of_the_server_is_a_loss() {
    let port = free_port();
    let first = Server::start(port, &[]);
    let store = connect(&first.address(), "ws").await;
    let mut live = follow(&store).await;
    commit(&store, &[1]).await;
    assert!(next(&mut live).await.is_some());

    drop(first);
    let _second = Server::start(port, &[]);
    let append = Op::Append { emitter: "e:%".into(), stream: "default".into(), value: "x".into(), keep: 1 };
    store.commit(Batch::new(&tenant(), 2).then(append)).await.unwrap();

    // By the next message, or by comparing.
    assert_eq!(next(&mut live).await, None);
}
