//! Quotas count on all hosts together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::users::{Plan, QuotaError, Quotas, day_start_ms};
use serde_json::json;
use store::{Heartbeat, Member, Op, Reads, Store};
use tokio::sync::Semaphore;

use super::Stage;
use crate::fake::{returned, with_keys};
use crate::flow::{Config, Flow, Handle, Refusal};
use crate::manage::users::{UserChange, update as update_user};
use crate::records::names;
use crate::{Error, Platform};

const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

async fn set(stage: &Stage, quotas: Quotas) {
    let change = UserChange { plan: Some(Plan::Free { quotas }), ..UserChange::default() };
    update_user(&stage.caller, &stage.world.platform, stage.caller.user.id.as_str(), change).await.unwrap();
}

async fn with_quota(daily_invocations: u64) -> Stage {
    let stage = Stage::new().await;
    set(&stage, Quotas { daily_compute_ms: 1_000_000, daily_invocations }).await;
    stage
}

/// The same store with other hosts that know of each other.
fn hosts(stage: &Stage, count: usize) -> Vec<Platform> {
    let member = |number: usize| Member { host: format!("h{number}"), seen_ms: 0, about: "{}".into() };
    let host = |_| {
        let platform = with_keys(&stage.world.platform, KEY);
        let members = Some((0..count).map(member).collect());
        platform.hosts().note(&Heartbeat { now_us: 0, version: 1, layout: 1, members });
        platform
    };
    (0..count).map(host).collect()
}

async fn counted(stage: &Stage) -> i64 {
    let counter = names::invocations_of_day(day_start_ms(stage.world.platform.clock.instant_ms()));
    stage.world.store.counters(&stage.caller.tenant, &[counter]).await.unwrap()[0]
}

#[tokio::test]
async fn three_hosts_run_what_a_quota_allows_within_a_twentieth() {
    const QUOTA: u64 = 60;
    const REQUESTS: usize = 150;
    let stage = with_quota(QUOTA).await;
    let source = stage.endpoint("a", json!({})).await;
    let (started, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let held = (started.clone(), gate.clone());
    stage.world.sandbox.script_async("a", move |_, _| {
        let (started, gate) = held.clone();
        async move {
            started.fetch_add(1, Ordering::SeqCst);
            gate.acquire().await.unwrap().forget();
            returned(&json!(null))
        }
    });
    let handle = |platform: Platform| Flow::new(platform, stage.world.chores(), Config::default()).0;
    let handles: Vec<Handle> = hosts(&stage, 3).into_iter().map(handle).collect();

    // All at once, and none ends before the last was admitted or refused.
    let posting: Vec<_> = (0..REQUESTS)
        .map(|number| {
            let (handle, key) = (handles[number % 3].clone(), source.endpoint_key.clone());
            tokio::spawn(async move {
                let admitted = handle.admit(key.as_str()).await?;
                handle.trigger(admitted, json!(number)).await.map(drop)
            })
        })
        .collect();
    while started.load(Ordering::SeqCst) + posting.iter().filter(|post| post.is_finished()).count() < REQUESTS {
        tokio::task::yield_now().await;
    }
    gate.add_permits(REQUESTS);
    let (mut ran, mut refused) = (0, 0);
    for post in posting {
        match post.await.unwrap() {
            Ok(()) => ran += 1,
            Err(Refusal::OverQuota { .. }) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }

    assert_eq!(ran + refused, REQUESTS as u64);
    assert!((QUOTA * 95 / 100..=QUOTA * 105 / 100).contains(&ran), "{ran} ran");
    assert_eq!(counted(&stage).await, i64::try_from(ran).unwrap(), "each is counted once");
}

#[tokio::test]
async fn far_from_the_quota_a_run_is_counted_by_its_own_commit_alone() {
    let stage = with_quota(1_000_000).await;
    let source = stage.endpoint("a", json!({})).await;
    let platform = &stage.world.platform;

    let admission = platform.quotas().admit(platform, &stage.caller.tenant).await.unwrap();

    assert_eq!((admission.was_counted, counted(&stage).await), (false, 0));
    drop(admission);
    stage.post(&source, json!(1)).await.unwrap();
    assert_eq!(counted(&stage).await, 1);
}

#[tokio::test]
async fn what_was_counted_for_a_run_that_did_not_come_to_be_is_left_for_the_next() {
    let stage = with_quota(1).await;
    let (platform, tenant) = (&stage.world.platform, &stage.caller.tenant);
    let admit = async || platform.quotas().admit(platform, tenant).await;

    let first = admit().await.unwrap();
    assert!(first.was_counted && admit().await.is_err(), "one runs, and there is no second");
    drop(first);
    let second = admit().await.unwrap();
    second.use_up();
    drop(second);

    assert_eq!(counted(&stage).await, 1);
    assert!(matches!(admit().await, Err(Error::Quota(QuotaError::Invocations { quota: 1, .. }))));
    // The operator gives more.
    set(&stage, Quotas { daily_compute_ms: 1_000_000, daily_invocations: 2 }).await;
    assert!(admit().await.unwrap().was_counted);
}

#[tokio::test]
async fn runs_under_way_are_expected_to_take_the_average_compute_time() {
    let stage = Stage::new().await;
    set(&stage, Quotas { daily_compute_ms: 100, daily_invocations: 1000 }).await;
    let (platform, tenant) = (&stage.world.platform, &stage.caller.tenant);
    let day_ms = day_start_ms(platform.clock.instant_ms());
    let count = |counter, amount| Op::Count { counter, amount, expires_ms: None };
    let used = platform.batch(tenant).then(count(names::compute_of_day(day_ms), 60));
    stage.world.store.commit(used.then(count(names::invocations_of_day(day_ms), 1))).await.unwrap();

    let running = platform.quotas().admit(platform, tenant).await.unwrap();
    let refused = platform.quotas().admit(platform, tenant).await;

    assert!(matches!(refused, Err(Error::Quota(QuotaError::ComputeTime { quota_ms: 100, .. }))));
    drop(running);
    platform.quotas().admit(platform, tenant).await.unwrap();
}
