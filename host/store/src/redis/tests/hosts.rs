//! Several hosts on one server: what they cost, and how they know of each other.

use std::sync::Arc;

use bytes::Bytes;

use super::{count, tenant};
use crate::contract::servers::{Server, cluster_address, connect, free_port, namespace, server};
use crate::contract::{World, job, leases, payloads};
use crate::{
    Batch, Beat, CommitError, LeaseRequest, Neighbours, Next, Op, Partition, Reads, Said, Shares, Store, Work,
};

fn beat<'host>(host: &'host str, known: u64, gone_after_ms: u64) -> Beat<'host> {
    Beat { host, about: b"{}", known, gone_after_ms, reads: 1 }
}

#[tokio::test]
async fn jobs_and_timers_of_all_partitions_are_one_call() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;
    let timer = Op::SetTimer { timer: "t".into(), due_ms: 3, schedule: "s".into() };
    store.commit(Batch::new(&tenant(), 1).then(job(None, 2, "a")).then(timer)).await.unwrap();
    let all = Partition::all(store.partitions);
    let lease = async |now_ms: u64, max: u32| {
        store.lease(&all, LeaseRequest { now_ms, lease_ms: 100, max }, Shares::default()).await.unwrap()
    };
    // The first call sends the text of the script.
    let early = lease(1, 9).await;
    let due: Vec<u64> =
        early.looked.iter().filter_map(|looked| if let Next::Due(due) = looked.next { due } else { None }).collect();
    assert_eq!(due, [2], "the earlier of both, of the one partition that has any");
    let before = own.calls("evalsha");

    let both = lease(5, 2).await;

    assert_eq!(own.calls("evalsha") - before, 1);
    assert_eq!((both.jobs.len(), both.ticks.len()), (1, 1), "neither takes all there is room for");
}

#[tokio::test]
async fn leases_that_end_together_are_extended_together() {
    let own = Server::start(free_port(), &[]);
    let store = Arc::new(connect(&own.address(), "ws").await);
    let world = World::new(store.clone(), ());
    world.commit((0..50).map(|_| job(None, 0, "a")).collect()).await;
    let leased = world.lease(1, 50).await;
    let extend = |until_ms: u64| {
        let all = leased.items.iter().map(|job| {
            let (store, tenant, lease) = (store.clone(), job.tenant.clone(), job.lease.into());
            async move { store.extend(&tenant, &lease, until_ms).await }
        });
        futures_util::future::join_all(all.collect::<Vec<_>>())
    };
    // The first call sends the text of the script.
    assert!(extend(500).await.iter().all(Result::is_ok));
    let before = own.calls("evalsha");

    assert!(extend(1000).await.iter().all(Result::is_ok));

    let calls = own.calls("evalsha") - before;
    assert!(calls <= 2, "{calls} calls for 50 leases");
    assert_eq!(payloads(&world.lease(999, 50).await).len(), 0);
    let again = world.lease(1000, 50).await;
    assert_eq!(again.items.len(), 50);
    assert!(extend(5000).await.iter().all(|extended| matches!(extended, Err(CommitError::LeaseLost))));
    world.commit(leases(&again).into_iter().map(Op::Acknowledge).collect()).await;
}

#[tokio::test]
async fn the_hold_of_a_job_is_extended_until_it_is_leased() {
    let store = Arc::new(connect(&server().address(), &namespace()).await);
    let world = World::new(store.clone(), ());
    let Op::Enqueue(enqueue) = job(None, 0, "mine") else { panic!("a job") };
    let held = Op::Enqueue(crate::Enqueue { held_until_ms: Some(1000), ..enqueue });
    let committed = world.commit(vec![held]).await;
    let job = committed.jobs[0];

    store.extend_hold(&world.tenant, job, 5000).await.unwrap();

    assert_eq!(payloads(&world.lease(4999, 9).await).len(), 0);
    assert_eq!(payloads(&world.lease(5000, 9).await), ["mine"], "its host is gone");
    let late = store.extend_hold(&world.tenant, job, 9000).await;
    assert!(matches!(late, Err(CommitError::LeaseLost)), "{late:?}");
}

#[tokio::test]
async fn hosts_know_of_each_other_and_of_one_that_is_gone() {
    let store = connect(&server().address(), &namespace()).await;
    let first = store.beat(beat("a", 0, 60_000)).await.unwrap().unwrap();
    let names = |heartbeat: &crate::Heartbeat| -> Option<Vec<String>> {
        Some(heartbeat.members.as_ref()?.iter().map(|member| member.host.clone()).collect())
    };
    assert_eq!(names(&first), Some(vec!["a".to_owned()]));

    let second = store.beat(beat("b", 0, 60_000)).await.unwrap().unwrap();
    let unchanged = store.beat(beat("b", second.version, 60_000)).await.unwrap().unwrap();
    let told = store.beat(beat("a", first.version, 60_000)).await.unwrap().unwrap();

    let both = Some(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!((names(&second), names(&unchanged), names(&told)), (both.clone(), None, both));

    store.leave("b").await.unwrap();
    assert_eq!(names(&store.beat(beat("a", told.version, 60_000)).await.unwrap().unwrap()), Some(vec!["a".to_owned()]));
    // By the server's clock: a host that was heard of a moment ago is gone when no time at all is allowed.
    store.beat(beat("c", 0, 60_000)).await.unwrap();
    let alone = store.beat(beat("a", 0, 0)).await.unwrap().unwrap();
    assert_eq!(names(&alone), Some(vec!["a".to_owned()]));
    assert_eq!(store.members(60_000).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_layout_is_written_when_every_host_reads_it_and_older_hosts_are_refused_then() {
    let namespace = namespace();
    let store = connect(&server().address(), &namespace).await;
    let say = async |host: &'static str, reads: u32| {
        store.beat(Beat { reads, ..beat(host, 0, 60_000) }).await.map(|heartbeat| heartbeat.unwrap().layout)
    };
    assert_eq!(store.settle_layout(1).await.unwrap(), 1, "what says nothing is of the first");
    assert_eq!(say("old", 1).await.unwrap(), 1);
    assert_eq!(say("new", 2).await.unwrap(), 1, "the old host could not read more");
    assert_eq!(say("newer", 3).await.unwrap(), 1);

    store.leave("old").await.unwrap();

    assert_eq!(say("newer", 3).await.unwrap(), 2, "all that are left read it");
    let refused = say("old", 1).await;
    assert!(matches!(refused, Err(crate::Error::NewerLayout { written: 2, reads: 1 })), "{refused:?}");
    let members = store.members(60_000).await.unwrap();
    let names: Vec<&str> = members.iter().map(|member| member.host.as_str()).collect();
    assert_eq!(names, ["new", "newer"], "a host that was refused is not there");
    store.leave("new").await.unwrap();
    assert_eq!(say("newer", 3).await.unwrap(), 3);
    store.leave("newer").await.unwrap();
    let refused = store.settle_layout(2).await;
    assert!(matches!(refused, Err(crate::Error::NewerLayout { written: 3, reads: 2 })), "{refused:?}");
    assert_eq!(say("last", 4).await.unwrap(), 4);
}

/// Versions before layouts keep no entry of what they read.
#[tokio::test]
async fn a_host_that_says_nothing_of_layouts_keeps_the_first() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;
    own.command(&["ZADD", "ws:{hosts}:seen", "9999999999999", "before"]);

    let with_it = store.beat(Beat { reads: 2, ..beat("new", 0, 60_000) }).await.unwrap().unwrap();
    own.command(&["ZREM", "ws:{hosts}:seen", "before"]);
    let alone = store.beat(Beat { reads: 2, ..beat("new", 0, 60_000) }).await.unwrap().unwrap();

    assert_eq!((with_it.layout, alone.layout), (1, 2));
}

#[tokio::test]
async fn the_time_of_a_heartbeat_is_that_of_the_server() {
    let own = Server::start(free_port(), &[]);
    let store = connect(&own.address(), "ws").await;

    let now_us = store.beat(beat("a", 0, 1000)).await.unwrap().unwrap().now_us;

    let time = own.command(&["TIME"]);
    let mut parts = time.lines().map(|part| part.parse::<u64>().unwrap());
    let after_us = parts.next().unwrap() * 1_000_000 + parts.next().unwrap();
    assert!((now_us..now_us + 10_000_000).contains(&after_us), "{now_us} {after_us}");
}

#[tokio::test]
async fn a_record_that_is_read_often_is_asked_for_once_until_a_host_changes_it() {
    let own = Server::start(free_port(), &[]);
    let (here, there) = (connect(&own.address(), "ws").await, connect(&own.address(), "ws").await);
    let put = |value: &str| Op::PutRecord {
        kind: "source".into(),
        id: "a".into(),
        alias: None,
        value: value.to_owned().into(),
    };
    let commit = async |store: &crate::redis::Redis, operation| {
        store.commit(Batch::new(&tenant(), 1).then(operation)).await.unwrap();
    };
    let read = async || {
        let found = here.recent_record(&tenant(), "source", "a").await.unwrap();
        found.map(|record| String::from_utf8(record.value.to_vec()).unwrap())
    };
    // What another host changed is told at once, and not only read again after a second.
    let becomes = async |expected: Option<&str>| {
        let begun = std::time::Instant::now();
        while read().await.as_deref() != expected {
            assert!(begun.elapsed() < std::time::Duration::from_millis(700), "{expected:?} is not told");
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(read().await, None);
    commit(&here, put("one")).await;
    assert_eq!(read().await.as_deref(), Some("one"), "what this host commits counts at once");

    let before = own.calls("hmget");
    for _ in 0..100 {
        read().await;
    }
    let asked = own.calls("hmget") - before;
    commit(&here, put("two")).await;

    assert!(asked <= 1, "{asked} questions for a hundred reads");
    assert_eq!(read().await.as_deref(), Some("two"));
    commit(&there, put("three")).await;
    becomes(Some("three")).await;
    commit(&there, Op::DeleteRecord { kind: "source".into(), id: "a".into() }).await;
    becomes(None).await;
    commit(&there, put("four")).await;
    becomes(Some("four")).await;
}

#[tokio::test]
async fn a_host_that_paused_cannot_commit_what_another_has_taken_over() {
    let namespace = namespace();
    let paused = World::new(Arc::new(connect(&server().address(), &namespace).await), ());
    let other = World::new(Arc::new(connect(&server().address(), &namespace).await), ());
    paused.commit(vec![job(None, 0, "a")]).await;
    let held = paused.lease(1, 1).await;

    let taken = other.lease(1 + 100, 1).await;

    assert_eq!(payloads(&taken), ["a"], "its lease has run out");
    let late = paused.try_commit(200, vec![], vec![Op::Acknowledge(leases(&held)[0]), count()]).await;
    assert!(matches!(late, Err(CommitError::LeaseLost)), "{late:?}");
    other.commit(vec![Op::Acknowledge(leases(&taken)[0])]).await;
}

async fn neighbours(address: &str, namespace: &str) -> Arc<dyn Neighbours> {
    connect(address, namespace).await.neighbours().unwrap()
}

#[tokio::test]
async fn hosts_hear_each_other_and_not_themselves_nor_other_installations() {
    for address in [server().address(), cluster_address()] {
        let (own, other) = (namespace(), namespace());
        let (one, two) = (neighbours(&address, &own).await, neighbours(&address, &own).await);
        let stranger = neighbours(&address, &other).await;
        let (mut to_one, mut to_two, to_stranger) = (one.listen(), two.listen(), stranger.listen());

        stranger.say("not for you").await.unwrap();
        one.say("want a:b").await.unwrap();
        two.say("here").await.unwrap();

        assert_eq!(to_two.recv().await.unwrap(), Said { host: one.own().to_owned(), text: "want a:b".to_owned() });
        assert_eq!(to_one.recv().await.unwrap(), Said { host: two.own().to_owned(), text: "here".to_owned() });
        assert!(to_stranger.is_empty() && to_two.is_empty());
        assert_ne!(one.own(), two.own());
    }
}

#[tokio::test]
async fn a_host_knows_whether_there_are_others() {
    for address in [server().address(), cluster_address()] {
        let store = connect(&address, &namespace()).await;
        let neighbours = store.neighbours().unwrap();

        let none = neighbours.are_any().await.unwrap();
        store.beat(beat("h_1", 0, 60_000)).await.unwrap();
        let itself = neighbours.are_any().await.unwrap();
        store.beat(beat("h_2", 0, 60_000)).await.unwrap();

        assert_eq!((none, itself, neighbours.are_any().await.unwrap()), (false, false, true));
    }
}

#[tokio::test]
async fn what_is_lent_is_found_by_all_until_its_time_is_over() {
    for address in [server().address(), cluster_address()] {
        let own = namespace();
        let (one, two) = (neighbours(&address, &own).await, neighbours(&address, &own).await);
        assert_eq!((two.is_lent("a").await.unwrap(), two.borrow("a").await.unwrap()), (false, None));

        one.lend("a", Bytes::from_static(b"\x00\xff first"), 60_000).await.unwrap();
        two.lend("a", Bytes::from_static(b"second"), 60_000).await.unwrap();
        one.lend("b", Bytes::from_static(b"short"), 1).await.unwrap();

        assert_eq!(two.borrow("a").await.unwrap().unwrap(), &b"\x00\xff first"[..]);
        assert!(two.is_lent("a").await.unwrap());
        while two.is_lent("b").await.unwrap() {
            tokio::task::yield_now().await;
        }
        assert_eq!(two.borrow("b").await.unwrap(), None);
    }
}
