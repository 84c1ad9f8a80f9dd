//! Sources that listen to sources, and the worker's loops.

use std::sync::Arc;

use domain::users::{Plan, Quotas};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Stage;
use crate::fake::{World, emit, emit_with, returned};
use crate::flow::{Config, Flow};
use crate::manage::users::{UserChange, update as update_user};
use crate::ports::Outcome;
use crate::watching::{Doing, PATIENCE, TURN, stalled};

#[tokio::test]
async fn a_listening_source_runs_with_the_event_itself() {
    let stage = Stage::new().await;
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(first.id.as_str(), second.id.as_str(), "").await;

    stage.post(&first, json!({"n": 1})).await.unwrap();
    stage.work().await;

    assert_eq!(stage.stream(&second, "default").await, [json!({"n": 1})]);
}

#[tokio::test]
async fn a_loop_of_sources_is_cut_and_says_so() {
    let stage = Stage::new().await;
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(first.id.as_str(), second.id.as_str(), "").await;
    stage.subscribe(second.id.as_str(), first.id.as_str(), "").await;

    stage.post(&first, json!({"n": 1})).await.unwrap();
    stage.work().await;

    let runs = stage.stream(&first, "default").await.len() + stage.stream(&second, "default").await.len();
    assert_eq!(runs, 1 + 16);
    let errors = stage.stream(&second, "$errors").await;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["error"]["code"], "loop");
    assert_eq!(errors[0]["original_event"], json!({"n": 1}));
}

#[tokio::test]
async fn a_duplicate_is_neither_stored_nor_delivered() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("unique", |call| Outcome {
        emits: vec![emit_with(&call["event"], json!({"id": call["event"]["id"]}))],
        ..returned(&json!(null))
    });
    let source = stage.endpoint("unique", json!({"dedupe": "unique"})).await;
    stage.webhook("https://example.com/hook").await;

    for id in [1, 2, 1] {
        stage.post(&source, json!({"id": id})).await.unwrap();
    }
    stage.work().await;

    assert_eq!(stage.stream(&source, "default").await.len(), 2);
    assert_eq!(stage.posted().len(), 2);
}

#[tokio::test]
async fn deliveries_wait_for_the_quota_to_reset() {
    let stage = Stage::new().await;
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(first.id.as_str(), second.id.as_str(), "").await;
    let quotas = Quotas { daily_compute_ms: 1_000_000, daily_invocations: 1 };
    let change = UserChange { plan: Some(Plan::Free { quotas }), ..UserChange::default() };
    update_user(&stage.caller, &stage.world.platform, stage.caller.user.id.as_str(), change).await.unwrap();
    stage.post(&first, json!(1)).await.unwrap();

    stage.work().await;
    let before = stage.stream(&second, "default").await.len();
    stage.world.clock.advance(12 * 3600 * 1000);
    stage.work().await;

    assert_eq!((before, stage.stream(&second, "default").await.len()), (0, 1));
    assert_eq!(stage.stream(&second, "$errors").await.len(), 1);
}

#[tokio::test]
async fn what_waits_for_a_quota_delays_no_other_and_goes_on_within_a_minute_of_a_new_one() {
    let stage = Stage::new().await;
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(first.id.as_str(), second.id.as_str(), "").await;
    stage.webhook("https://example.com/hook").await;
    let set_quota = async |daily_invocations| {
        let quotas = Quotas { daily_compute_ms: 1_000_000, daily_invocations };
        let change = UserChange { plan: Some(Plan::Free { quotas }), ..UserChange::default() };
        update_user(&stage.caller, &stage.world.platform, stage.caller.user.id.as_str(), change).await.unwrap();
    };
    set_quota(1).await;
    stage.post(&first, json!(1)).await.unwrap();

    stage.work().await;
    let (delivered, held) = (stage.posted().len(), stage.stream(&second, "default").await.len());
    set_quota(10).await;
    stage.world.clock.advance(60_000);
    stage.work().await;

    assert_eq!((delivered, held), (1, 0));
    assert_eq!(stage.stream(&second, "default").await, [json!(1)]);
}

#[tokio::test]
async fn a_tenant_has_a_bounded_share_and_the_rest_goes_back_into_the_queue() {
    let stage = Stage::with(World::default(), Config { work_per_tenant: 1, ..Config::default() }).await;
    let hold = stage.script_slow();
    let (first, slow) = (stage.endpoint("a", json!({})).await, stage.deploy("slow", json!({})).await);
    let other = stage.deploy("b", json!({})).await;
    stage.subscribe(first.id.as_str(), slow.id.as_str(), "").await;
    stage.subscribe(first.id.as_str(), other.id.as_str(), "").await;
    stage.post(&first, json!(1)).await.unwrap();
    let jobs = stage.lease_jobs().await;
    let is_slow = |job: &store::Job| job.lane.as_ref().is_some_and(|lane| lane.ends_with(slow.id.as_str()));
    let (slow_job, other_job): (Vec<_>, Vec<_>) = jobs.into_iter().partition(is_slow);
    let flow = stage.handle.clone();
    let under_way =
        tokio::spawn(async move { flow.perform_job(&slow_job[0], flow.admit_work(&slow_job[0].tenant)).await });
    hold.started.notified().await;

    stage.perform_job(&other_job[0]).await;
    let early = stage.lease_jobs().await.len();
    hold.released.notify_one();
    under_way.await.unwrap();
    stage.world.clock.advance(100);
    stage.work().await;

    assert_eq!(early, 0);
    assert_eq!(stage.stream(&slow, "default").await.len(), 1);
    assert_eq!(stage.stream(&other, "default").await.len(), 1);
}

#[tokio::test]
async fn queued_runs_of_one_source_leave_room_for_the_others_of_its_tenant() {
    let stage = Stage::with(World::default(), Config { work_per_tenant: 4, ..Config::default() }).await;
    let hold = stage.script_slow();
    let slow = stage.deploy("slow", json!({})).await;
    for name in ["a", "b"] {
        let emitter = stage.endpoint(name, json!({})).await;
        stage.subscribe(emitter.id.as_str(), slow.id.as_str(), "").await;
        stage.post(&emitter, json!(1)).await.unwrap();
    }
    let jobs = stage.lease_jobs().await;
    let (flow, first) = (stage.handle.clone(), jobs[0].clone());
    let under_way = tokio::spawn(async move { flow.perform_job(&first, flow.admit_work(&first.tenant)).await });
    hold.started.notified().await;

    // It goes back to the queue, although its tenant may have more under way.
    stage.perform_job(&jobs[1]).await;
    assert!(stage.handle.admit_work(&jobs[1].tenant).is_ok());
    hold.released.notify_one();
    under_way.await.unwrap();
    hold.released.notify_one();
    stage.world.clock.advance(100);
    stage.work().await;

    assert_eq!(stage.stream(&slow, "default").await.len(), 2);
}

#[tokio::test]
async fn the_worker_does_what_is_due_and_ends_when_it_is_told_to() {
    let stage = Stage::new().await;
    let (handle, worker) = Flow::new(stage.world.platform.clone(), stage.world.chores(), Config::default());
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(first.id.as_str(), second.id.as_str(), "").await;
    let mut live = stage.world.platform.store.follow(&stage.caller.tenant, second.id.as_str()).await.unwrap();
    let shutdown = CancellationToken::new();
    let working = tokio::spawn(worker.run(shutdown.clone()));

    let admitted = handle.admit(first.endpoint_key.as_str()).await.unwrap();
    handle.trigger(admitted, json!(1)).await.unwrap();
    live.ready().await;
    shutdown.cancel();
    working.await.unwrap();

    assert_eq!(stage.stream(&second, "default").await, [json!(1)]);
}

#[tokio::test]
async fn of_runs_that_end_together_each_is_judged_by_what_the_others_remembered() {
    let stage = Stage::new().await;
    stage.world.sandbox.script_async("unique", |call, _| async move {
        tokio::task::yield_now().await;
        let metadata = json!({"id": call["event"]["id"]});
        Outcome { emits: vec![emit_with(&call["event"], metadata)], ..returned(&json!(null)) }
    });
    let source = stage.endpoint("unique", json!({"dedupe": "unique"})).await;

    let asking: Vec<_> = (0..20).map(|number| stage.post_aside(&source, json!({"id": number % 10}))).collect();
    for asked in asking {
        asked.await.unwrap().unwrap();
    }

    assert_eq!(stage.stream(&source, "default").await.len(), 10);
    assert_eq!(stage.world.sandbox.called().len(), 20);
}

#[tokio::test]
async fn a_run_whose_deliveries_do_not_fit_one_batch_is_an_error_and_not_a_part_of_it() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("many", |_| Outcome {
        emits: (0..10_000).map(|number| emit(&json!(number))).collect(),
        ..returned(&json!(null))
    });
    let source = stage.endpoint("many", json!({})).await;
    for number in 0..6 {
        stage.webhook(&format!("https://example.com/{number}")).await;
    }

    stage.post(&source, json!({})).await.unwrap();

    assert!(stage.stream(&source, "default").await.is_empty());
    assert_eq!(stage.stream(&source, "$errors").await[0]["error"]["code"], "too_much_output");
}

#[tokio::test]
async fn one_trigger_causes_a_bounded_number_of_deliveries_however_they_branch() {
    let world = World::new(|config| config.limits.deliveries_per_trigger = 50);
    let stage = Stage::with(world, Config::default()).await;
    let three = |_| Outcome { emits: [1, 2, 3].map(|n| emit(&json!(n))).to_vec(), ..returned(&json!(null)) };
    stage.world.sandbox.script("a", three);
    stage.world.sandbox.script("b", three);
    let (first, second) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    for listener in [&first, &second] {
        stage.subscribe("dc_*", listener.id.as_str(), "").await;
    }

    stage.post(&first, json!(null)).await.unwrap();
    for _ in 0..50 {
        stage.work().await;
    }

    // A source does not listen to itself, so each run causes 3. Of 50, each of the first has 15 left, each of the next 4, each of
    // the next 0.
    let runs = stage.world.sandbox.called().iter().filter(|call| *call == "run").count();
    assert_eq!(runs, 1 + 3 + 9 + 27);
    let errors = stage.stream(&second, "$errors").await;
    assert!(!errors.is_empty() && errors.iter().all(|error| error["error"]["code"] == "fan_out"), "{errors:?}");
}

#[tokio::test]
async fn a_source_has_a_bounded_number_of_channels() {
    let world = World::new(|config| config.limits.channels_per_source = 2);
    let stage = Stage::with(world, Config::default()).await;
    stage.world.sandbox.script("a", |call| {
        let names = call["event"].as_array().cloned().unwrap_or_default();
        let emits = names.iter().map(|name| emit_with(name, json!({"name": name}))).collect();
        Outcome { emits, ..returned(&json!(null)) }
    });
    let source = stage.endpoint("a", json!({})).await;

    stage.post(&source, json!(["x"])).await.unwrap();
    stage.post(&source, json!(["x", "y", "z", "x"])).await.unwrap();
    stage.post(&source, json!(["z", "y"])).await.unwrap();

    let kept = [stage.stream(&source, "x").await.len(), stage.stream(&source, "y").await.len()];
    assert_eq!((kept, stage.stream(&source, "z").await.len()), ([3, 2], 0));
    let errors = stage.stream(&source, "$errors").await;
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0]["error"]["message"], "an emit was rejected: a source has at most 2 channels");
}

#[tokio::test]
async fn background_work_is_watched_by_its_kind() {
    let stage = Stage::new().await;
    let _turn = TURN.lock().await;
    let seen = Arc::<std::sync::Mutex<Vec<Doing>>>::default();
    let noting = seen.clone();
    stage.world.sandbox.script("slow", move |_| {
        noting.lock().unwrap().extend(stalled(std::time::Instant::now() + PATIENCE));
        returned(&json!(null))
    });
    let source = stage.endpoint("echo", json!({})).await;
    let listener = stage
        .deploy("slow", json!({"props": {"timer": {"type": "$.interface.timer", "default": {"intervalSeconds": 60}}}}))
        .await;
    stage.subscribe(source.id.as_str(), listener.id.as_str(), "").await;

    stage.post(&source, json!(1)).await.unwrap();
    stage.work().await;
    stage.world.clock.advance(60_000);
    stage.work().await;

    let seen = seen.lock().unwrap();
    for kind in ["delivery_to_source", "timer"] {
        assert!(seen.contains(&Doing::Work(kind)), "{kind} is not in {seen:?}");
    }
}
