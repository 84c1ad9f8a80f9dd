//! What a crash leaves behind: nothing accepted is lost, nothing is applied twice.

use serde_json::json;

use super::{Hold, Stage};
use crate::fake::{emit, returned};
use crate::flow::Answer;
use crate::ports::Outcome;

/// A source whose first run never ends.
async fn stuck(stage: &Stage) -> (crate::records::Source, Hold) {
    let hold = Hold::default();
    let inside = hold.clone();
    stage.world.sandbox.script_async("stuck", move |call, _| {
        let inside = inside.clone();
        async move {
            inside.pass().await;
            Outcome { emits: vec![emit(&call["event"])], ..returned(&json!(null)) }
        }
    });
    (stage.endpoint("stuck", json!({})).await, hold)
}

#[tokio::test]
async fn an_accepted_request_whose_host_died_is_run_by_another() {
    let mut stage = Stage::new().await;
    let (source, hold) = stuck(&stage).await;
    let asking = stage.post_aside(&source, json!(1));
    hold.started.notified().await;
    stage.world.clock.advance(5);
    assert_eq!(asking.await.unwrap().unwrap(), Answer::Accepted);

    // The first run is left where it stands, as in a process that was killed.
    stage.restart();
    stage.world.clock.advance(39_999);
    assert_eq!(stage.work().await, 0);
    stage.world.clock.advance(1);
    stage.world.sandbox.script("stuck", |call| Outcome { emits: vec![emit(&call["event"])], ..returned(&json!(null)) });
    stage.work().await;

    assert_eq!(stage.stream(&source, "default").await, [json!(1)]);
}

#[tokio::test]
async fn of_two_runs_of_an_accepted_request_one_counts() {
    let stage = Stage::new().await;
    let (source, hold) = stuck(&stage).await;
    let asking = stage.post_aside(&source, json!(1));
    hold.started.notified().await;
    stage.world.clock.advance(5);
    asking.await.unwrap().unwrap();
    stage.world.sandbox.script("stuck", |call| Outcome { emits: vec![emit(&call["event"])], ..returned(&json!(null)) });

    stage.world.clock.advance(40_000);
    stage.work().await;
    hold.released.notify_one();
    stage.wait_for_runs().await;
    stage.work().await;

    assert_eq!(stage.stream(&source, "default").await, [json!(1)]);
}

#[tokio::test]
async fn a_request_that_was_not_answered_leaves_nothing_behind() {
    let stage = Stage::new().await;
    let (source, hold) = stuck(&stage).await;
    let asking = stage.post_aside(&source, json!(1));
    hold.started.notified().await;

    asking.abort();
    stage.world.clock.advance(4);

    assert!(stage.stream(&source, "default").await.is_empty());
    assert_eq!(stage.work().await, 0);
}

#[tokio::test]
async fn a_delivery_whose_host_died_is_made_by_another_when_its_lease_ends() {
    let mut stage = Stage::new().await;
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(first.id.as_str(), second.id.as_str(), "").await;
    stage.post(&first, json!(1)).await.unwrap();
    let dead = stage.lease_jobs().await;

    stage.restart();
    assert_eq!(stage.work().await, 0);
    stage.world.clock.advance(30_000);
    stage.work().await;
    stage.perform_job(&dead[0]).await;

    assert_eq!(stage.stream(&second, "default").await, [json!(1)]);
}

#[tokio::test]
async fn clearing_up_is_done_by_the_same_worker() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!(1)).await.unwrap();
    crate::manage::sources::delete(&stage.caller, &stage.world.platform, source.id.as_str(), false).await.unwrap();

    stage.world.clock.advance(24 * 3600 * 1000);
    stage.work().await;

    assert!(stage.stream(&source, "default").await.is_empty());
}
