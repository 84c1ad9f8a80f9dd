//! Batches that share a call: each has its own answer, the call has its bounds, and a group sent again changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ARGUMENTS_OF_A_TENANT, GROUP_ARGUMENTS, GROUP_BATCHES, GROUP_BYTES, Member, fitting};
use crate::contract::servers::{Server, cluster_address, connect, free_port, namespace, server};
use crate::contract::{World, job, leases};
use crate::redis::encode::Arguments;
use crate::redis::{Redis, decode};
use crate::{Batch, CommitError, Committed, EntryQuery, Op, Precondition, Reads, Store, Tenant};

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

fn count() -> Op {
    Op::Count { counter: "runs".into(), amount: 1, expires_ms: None }
}

fn append(value: &str) -> Op {
    Op::Append { emitter: "e".into(), stream: "default".into(), value: value.to_owned().into(), keep: 9 }
}

/// Sends the batches as the group of this number.
async fn send(store: &Redis, number: u64, batches: &[Batch]) -> Vec<Result<Committed, CommitError>> {
    let members: Vec<Member> = batches
        .iter()
        .map(|batch| Member::new(store.prefix_of(&batch.tenant), batch, batch.tenant.partition(store.partitions)))
        .collect();
    let done = format!("{}:done:test", store.prefix_of(&tenant("u_a")));
    let answers = store.groups.send(&done, number, &members).await.unwrap();
    assert_eq!(answers.len(), batches.len());
    answers.iter().zip(batches).map(|(answer, batch)| decode::committed(answer, &batch.operations)).collect()
}

async fn values(store: &Redis, tenant: &Tenant) -> Vec<String> {
    let entries = store.entries(tenant, "e", "default", EntryQuery::newest(9)).await.unwrap();
    entries.iter().map(|entry| String::from_utf8(entry.value.to_vec()).unwrap()).collect()
}

/// Three batches of which the second is refused because of what the first did.
fn group_with_a_refusal() -> [Batch; 3] {
    let below = Precondition::CounterBelow { counter: "runs".into(), limit: 1 };
    let first = Batch::new(&tenant("u_a"), 5).then(count()).then(append("first"));
    let refused = Batch::new(&tenant("u_a"), 5).require(below).then(count()).then(append("refused"));
    let last = Batch::new(&tenant("u_a"), 5).then(append("last")).then(count()).then(job(None, 0, "a"));
    [first, refused, last]
}

#[tokio::test]
async fn a_refused_batch_in_the_middle_leaves_its_neighbours_alone() {
    let store = connect(&server().address(), &namespace()).await;

    let answers = send(&store, 1, &group_with_a_refusal()).await;

    let [Ok(first), Err(CommitError::Conflict { .. }), Ok(last)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!((&first.counters[..], &last.counters[..]), (&[1][..], &[2][..]));
    assert_eq!(last.entries.first().map(ToString::to_string).as_deref(), Some("5-1"));
    assert_eq!(values(&store, &tenant("u_a")).await, ["last", "first"]);
}

#[tokio::test]
async fn random_groups_do_what_the_model_does() {
    let store = Arc::new(connect(&server().address(), &namespace()).await);
    let world = World::new(store.clone(), ());
    let number = AtomicU64::new(1);
    let give = async |group: Vec<Batch>| send(&store, number.fetch_add(1, Ordering::Relaxed), &group).await;

    crate::contract::model::random_groups_do_what_the_model_does(&world, give).await;
}

#[tokio::test]
async fn what_several_batches_of_a_group_write_is_written_once() {
    let server = Server::start(free_port(), &[]);
    let store = connect(&server.address(), &namespace()).await;
    let batches: Vec<Batch> =
        (0..50).map(|number| Batch::new(&tenant("u_a"), 5).then(count()).then(append(&number.to_string()))).collect();
    let calls = || ["xadd", "xtrim", "incrby"].map(|command| server.calls(command));
    send(&store, 1, &batches[..1]).await;
    let before = calls();

    let answers = send(&store, 2, &batches).await;

    let made: Vec<u64> = calls().iter().zip(before).map(|(after, before)| after - before).collect();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(made, [50, 1, 2]);
    assert_eq!(store.counters(&tenant("u_a"), &["runs".into()]).await.unwrap(), [51]);
    assert_eq!(values(&store, &tenant("u_a")).await.len(), 9);
}

async fn check_sent_again(address: &str) {
    let store = connect(address, &namespace()).await;
    let group = group_with_a_refusal();

    let first = format!("{:?}", send(&store, 1, &group).await);
    let again = format!("{:?}", send(&store, 1, &group).await);

    assert_eq!(again, first);
    assert_eq!(store.counters(&tenant("u_a"), &["runs".into()]).await.unwrap(), [2]);
    assert_eq!(values(&store, &tenant("u_a")).await, ["last", "first"]);
}

#[tokio::test]
async fn a_group_that_is_sent_again_is_applied_once() {
    check_sent_again(&server().address()).await;
}

#[tokio::test]
async fn a_group_that_is_sent_again_to_a_cluster_is_applied_once() {
    check_sent_again(&cluster_address()).await;
}

#[tokio::test]
async fn a_group_that_arrives_after_a_later_one_does_nothing() {
    let store = connect(&server().address(), &namespace()).await;
    let batch = Batch::new(&tenant("u_a"), 5).then(count());
    send(&store, 10, std::slice::from_ref(&batch)).await;

    let late = send(&store, 9, std::slice::from_ref(&batch)).await;

    assert!(matches!(&late[..], [Err(CommitError::Unavailable(_))]), "{late:?}");
    assert_eq!(store.counters(&tenant("u_a"), &["runs".into()]).await.unwrap(), [1]);
}

#[tokio::test]
async fn a_lease_is_settled_by_one_batch_of_a_group() {
    let store = Arc::new(connect(&server().address(), &namespace()).await);
    let world = World::new(store.clone(), ());
    world.commit(vec![job(None, 0, "a")]).await;
    let lease = leases(&world.lease(1, 9).await).pop().unwrap();
    let settle = || Batch::new(&tenant("u_a"), 5).then(Op::Acknowledge(lease)).then(count());
    let held = Batch::new(&tenant("u_a"), 5).require(Precondition::LeaseHeld(lease.into())).then(count());

    let answers = send(&store, 1, &[held.clone(), settle(), settle(), held]).await;

    use CommitError::LeaseLost;
    assert!(matches!(&answers[..], [Ok(_), Ok(_), Err(LeaseLost), Err(LeaseLost)]), "{answers:?}");
    assert_eq!(world.lease(9999, 9).await.next_due_ms, None);
}

#[tokio::test]
async fn batches_of_several_partitions_share_a_call_to_one_server() {
    let store = connect(&server().address(), &namespace()).await;
    let tenants: Vec<Tenant> = (0..9).map(|number| tenant(&format!("u_{number}"))).collect();
    let batches: Vec<Batch> =
        tenants.iter().map(|tenant| Batch::new(tenant, 5).then(append(tenant.as_str()))).collect();

    let answers = send(&store, 1, &batches).await;

    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    for tenant in &tenants {
        assert_eq!(values(&store, tenant).await, [tenant.as_str()]);
    }
}

#[tokio::test]
async fn a_batch_that_fails_half_way_does_not_take_its_group_with_it() {
    let store = connect(&server().address(), &namespace()).await;
    // Nothing of ours writes such a key.
    let broken = tenant("u_broken");
    let key = format!("{}:stream:{broken}:e:default", store.prefix_of(&broken));
    let () = store.link.ask(::redis::cmd("SET").arg(key).arg("not a stream")).await.unwrap();
    let batches = ["u_broken", "u_broken", "u_b"].map(|name| Batch::new(&tenant(name), 5).then(append(name)));

    let answers = send(&store, 1, &batches).await;

    let [Err(CommitError::Unavailable(_)), Err(CommitError::Unavailable(_)), Ok(_)] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!(values(&store, &tenant("u_b")).await, ["u_b"]);
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_hold_up_the_others() {
    let store = Arc::new(connect(&server().address(), &namespace()).await);
    let commit = || {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.commit(Batch::new(&tenant("u_a"), 5).then(count())).await })
    };

    let tasks: Vec<_> = (0..40).map(|_| commit()).collect();
    tasks.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);

    for task in tasks.into_iter().skip(1).step_by(2) {
        task.await.unwrap().unwrap();
    }
    assert!(commit().await.unwrap().unwrap().counters.iter().all(|total| (21..=41).contains(total)));
}

fn arguments(count: usize, size_bytes: usize) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.raw(&vec![0; size_bytes]);
    (1..count).for_each(|_| {
        arguments.text("");
    });
    arguments
}

#[test]
fn a_group_ends_at_each_of_its_bounds() {
    let check = |batches: &[Arguments], expected: usize| {
        let tenants: Vec<_> = (0..batches.len()).map(|number| tenant(&format!("u_{number}"))).collect();
        let goes = fitting(tenants.iter().zip(batches));
        assert_eq!(goes.iter().take_while(|goes| **goes).count(), expected);
        assert_eq!(goes.iter().filter(|goes| **goes).count(), expected);
    };
    let many = |count: usize, of: fn() -> Arguments| (0..count).map(|_| of()).collect::<Vec<_>>();

    check(&[], 0);
    check(&many(GROUP_BATCHES, || arguments(1, 1)), GROUP_BATCHES);
    check(&many(GROUP_BATCHES + 1, || arguments(1, 1)), GROUP_BATCHES);
    check(&[arguments(GROUP_ARGUMENTS - 1, 0), arguments(1, 0), arguments(1, 0)], 2);
    check(&[arguments(1, GROUP_BYTES - 1), arguments(1, 1), arguments(1, 1)], 2);
    check(&[arguments(GROUP_ARGUMENTS + 1, 0), arguments(1, 0)], 1);
    check(&[arguments(1, GROUP_BYTES + 1), arguments(1, 0)], 1);
}

#[test]
fn a_tenant_has_its_share_of_a_group_and_keeps_its_order() {
    let check = |batches: &[(&str, usize)], expected: &[bool]| {
        let tenants: Vec<_> = batches.iter().map(|(name, _)| tenant(name)).collect();
        let batches: Vec<_> = batches.iter().map(|(_, count)| arguments(*count, 0)).collect();
        assert_eq!(fitting(tenants.iter().zip(&batches)), expected);
    };
    let share = ARGUMENTS_OF_A_TENANT;

    check(&[("greedy", share), ("modest", 10)], &[true, true]);
    check(&[("greedy", share), ("greedy", 1), ("modest", 10)], &[true, false, true]);
    check(&[("greedy", share - 10), ("greedy", 20), ("greedy", 1), ("modest", 10)], &[true, false, false, true]);
    check(&[("greedy", share + 10), ("greedy", 1), ("modest", 10)], &[true, false, true]);
}

#[tokio::test]
async fn more_commits_than_a_group_holds_are_all_made() {
    let store = Arc::new(connect(&server().address(), &namespace()).await);
    let commits = (0..GROUP_BATCHES * 4).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.commit(Batch::new(&tenant("u_a"), 5).then(count())).await.unwrap().counters })
    });

    let mut totals = Vec::new();
    for commit in commits.collect::<Vec<_>>() {
        totals.extend(commit.await.unwrap());
    }

    totals.sort_unstable();
    assert!(totals.into_iter().eq(1..=i64::try_from(GROUP_BATCHES * 4).unwrap()));
}
