//! What the operator is told of runs, deliveries, refusals and the queue.

use metrics::{Family, Label, Value};
use serde_json::json;

use super::{Config, Stage};
use crate::Rate;
use crate::fake::{World, threw};

const HOOK: &str = "https://example.com/hook";
const DEAD: &str = "https://dead.example.com/hook";

/// The value of one series, as it would be shown; of a distribution its count and its sum.
async fn shown(stage: &Stage, name: &str, labels: &[Label]) -> Vec<f64> {
    let families = Family::merged(stage.world.platform.families().await);
    let family = families.iter().find(|family| family.name == name).unwrap_or_else(|| panic!("there is no {name}"));
    let sample = family.samples.iter().find(|sample| sample.labels == labels).expect("a series with these labels");
    match &sample.value {
        Value::Whole(number) => vec![*number as f64],
        Value::Real(number) => vec![*number],
        Value::Distribution { sum, count, .. } => vec![*count as f64, *sum],
    }
}

#[tokio::test]
async fn runs_are_counted_by_trigger_and_outcome_with_their_time_and_fuel() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("bad", |_| threw("no"));
    let (good, bad) = (stage.endpoint("good", json!({})).await, stage.endpoint("bad", json!({})).await);
    let before = shown(&stage, "wellspring_run_fuel", &[]).await[0];

    for source in [&good, &good, &bad] {
        stage.post(source, json!({})).await.unwrap();
    }

    let http = ("trigger", "http");
    assert_eq!(shown(&stage, "wellspring_runs", &[http, ("outcome", "success")]).await, [2.0]);
    assert_eq!(shown(&stage, "wellspring_runs", &[http, ("outcome", "threw")]).await, [1.0]);
    assert_eq!(shown(&stage, "wellspring_run_seconds", &[http]).await, [3.0, 0.006], "2 ms each, in this sandbox");
    assert_eq!(shown(&stage, "wellspring_run_fuel", &[]).await, [before + 3000.0]);
    assert_eq!(shown(&stage, "wellspring_events", &[]).await, [2.0]);
}

#[tokio::test]
async fn a_late_tick_is_a_lag_until_it_runs_and_then_time_in_the_queue() {
    let stage = Stage::new().await;
    let timer = json!({"props": {"timer": {"type": "$.interface.timer", "default": {"intervalSeconds": 60}}}});
    stage.deploy("tick", timer).await;
    assert_eq!(shown(&stage, "wellspring_timers", &[]).await, [1.0]);

    stage.world.clock.advance(60_000 + 7002);
    assert_eq!(shown(&stage, "wellspring_timers_lag_seconds", &[]).await, [7.002]);
    stage.work().await;

    assert_eq!(shown(&stage, "wellspring_run_queue_seconds", &[("trigger", "timer")]).await, [1.0, 7.0]);
    stage.world.clock.advance(5000);
    assert_eq!(shown(&stage, "wellspring_timers_lag_seconds", &[]).await, [0.0]);
}

#[tokio::test]
async fn deliveries_are_counted_by_where_they_go_and_what_became_of_them() {
    let stage = Stage::new().await;
    let (source, listener) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(source.id.as_str(), listener.id.as_str(), "default").await;
    stage.webhook(HOOK).await;
    stage.webhook(DEAD).await;
    stage.world.outbound.answer(DEAD, 500);

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    // What the listener emits goes to the webhooks as well.
    let of = async |destination, state| {
        shown(&stage, "wellspring_deliveries", &[("destination", destination), ("state", state)]).await[0]
    };
    assert_eq!((of("webhook", "delivered").await, of("webhook", "failed").await), (2.0, 1.0));
    assert_eq!((of("source", "delivered").await, of("source", "failed").await), (1.0, 0.0));
}

#[tokio::test]
async fn refusals_are_counted_by_the_bound_that_was_reached() {
    let endpoint_rate = Rate { per_second: 1, burst: 1 };
    let stage = Stage::with(World::default(), Config { endpoint_rate, ..Config::default() }).await;
    let source = stage.endpoint("a", json!({})).await;

    stage.post(&source, json!({})).await.unwrap();
    stage.post(&source, json!({})).await.unwrap_err();

    let of = async |kind| shown(&stage, "wellspring_refusals", &[("kind", kind), ("scope", "tenant")]).await[0];
    assert_eq!((of("endpoint_rate").await, of("tenant_rate").await), (1.0, 0.0));
    assert_eq!(of("requests_in_flight").await, 0.0, "shares are told as well");
}

#[tokio::test]
async fn the_store_is_looked_at_every_few_seconds_however_often_it_is_asked_for() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.webhook(HOOK).await;
    // A deploy has left a job that would clear up after it.
    let before = shown(&stage, "wellspring_jobs", &[]).await[0];

    stage.post(&source, json!({})).await.unwrap();
    stage.world.clock.advance(4999);
    assert_eq!(shown(&stage, "wellspring_jobs", &[]).await, [before]);
    stage.world.clock.advance(1);

    assert_eq!(shown(&stage, "wellspring_jobs", &[]).await, [before + 1.0]);
    assert_eq!(shown(&stage, "wellspring_jobs_oldest_seconds", &[]).await, [5.0]);
    assert_eq!(shown(&stage, "wellspring_store_up", &[]).await, [1.0]);
}
