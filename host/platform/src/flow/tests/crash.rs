//! A host that dies at any of its commits, before it happened or after.

use std::cmp::Ordering;
use std::future::ready;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::json;

use super::Stage;
use crate::Platform;
use crate::fake::{CommitFault, Meddling, meddled};
use crate::flow::{Config, Flow};

/// The same world through a host that dies: from commit number `dies_at` on nothing is answered any more. With `dies_after`
/// the last commit happens, and only its answer is lost.
pub(super) fn mortal(stage: &Stage, dies_at: usize, dies_after: bool) -> (Platform, Arc<Meddling>) {
    let fate = move |number: usize| match number.cmp(&dies_at) {
        Ordering::Less => CommitFault::None,
        Ordering::Equal if dies_after => CommitFault::AnswerLost,
        _ => CommitFault::HostDied,
    };
    meddled(&stage.world.platform, move |number| ready(fate(number)).boxed())
}

/// A slow source, a source that listens to it, and a webhook that listens to both. One request comes in,
/// its host dies at a commit, and another host finishes what was accepted.
async fn survive(dies_at: usize, dies_after: bool) {
    let mut stage = Stage::new().await;
    let hold = stage.script_slow();
    let (slow, listener) = (stage.endpoint("slow", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(slow.id.as_str(), listener.id.as_str(), "").await;
    stage.webhook("https://example.com/hook").await;

    let immortal = stage.handle.clone();
    (stage.handle, _) = Flow::new(mortal(&stage, dies_at, dies_after).0, stage.world.chores(), Config::default());
    let asking = stage.post_aside(&slow, json!("once"));
    hold.started.notified().await;
    stage.world.clock.advance(5);
    let answer = asking.await.unwrap();
    hold.released.notify_one();
    stage.wait_for_runs().await;
    stage.work().await;
    stage.handle = immortal;
    // Whatever the dead one held is free again, and what it accepted is due.
    for _ in 0..5 {
        hold.released.notify_one();
        stage.world.clock.advance(60_000);
        stage.work().await;
    }

    let case = format!("dies at commit {dies_at}, after it: {dies_after}");
    let events = stage.stream(&slow, "default").await;
    let heard = stage.stream(&listener, "default").await;
    let posted = stage.posted().len();
    match answer {
        Ok(_) => assert_eq!(events, [json!("once")], "{case}"),
        Err(_) => assert!(events.len() <= 1, "{case}"),
    }
    assert_eq!(heard, events, "{case}");
    assert!(posted >= events.len() + heard.len(), "{case}");
}

#[tokio::test]
async fn nothing_accepted_is_lost_and_nothing_applied_twice_wherever_the_host_dies() {
    // Acceptance, run, run of the listener, two deliveries; beyond that no host dies.
    for dies_at in 0..8 {
        survive(dies_at, false).await;
        survive(dies_at, true).await;
    }
}
