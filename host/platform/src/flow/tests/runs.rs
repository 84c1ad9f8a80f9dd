//! Tests of records of runs: every invocation leaves one, in the batch that holds what it did.

use domain::runs::{State, TriggerKind};
use domain::trace::{TraceContext, TraceId};
use serde_json::json;

use super::Stage;
use crate::fake::{emit, returned, threw};
use crate::manage::runs::{self, RunQuery, RunView};
use crate::manage::sources;
use crate::ports::{Outcome, Reply, Write};
use crate::records::Source;

async fn of_source(stage: &Stage, source: &Source) -> Vec<RunView> {
    runs::of_source(&stage.caller, &stage.world.platform, source.id.as_str(), &RunQuery::default()).await.unwrap().items
}

async fn all(stage: &Stage, query: &RunQuery) -> Vec<RunView> {
    runs::of_all(&stage.caller, &stage.world.platform, query).await.unwrap().items
}

#[tokio::test]
async fn a_request_leaves_a_record_that_its_answer_and_its_events_name() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("echo", |_| Outcome {
        emits: vec![emit(&json!(1))],
        writes: vec![Write { key: "k".into(), value: Some("1".into()) }],
        ..returned(&json!(null))
    });
    let source = stage.endpoint("echo", json!({})).await;
    let mut admitted = stage.handle.admit(source.endpoint_key.as_str()).await.unwrap();
    let trace_id = TraceId::from_random([5; 16]);
    admitted.continue_trace(TraceContext { trace_id, ..TraceContext::default() });

    let answered = stage.handle.trigger(admitted, json!({})).await.unwrap();

    let view = runs::find(&stage.caller, &stage.world.platform, answered.run_id.as_str()).await.unwrap();
    let record = view.record;
    assert_eq!((record.state, record.trigger.kind, record.trace_id), (State::Success, TriggerKind::Http, trace_id));
    assert_eq!((record.emits.count, record.writes.first.as_slice()), (1, &["k".to_owned()][..]));
    assert_eq!(record.emitter_id, source.id.as_str());
    let query = crate::manage::events::EventQuery::default();
    let events = crate::manage::events::of_source(&stage.caller, &stage.world.platform, source.id.as_str(), &query);
    let event = events.await.unwrap().items.remove(0);
    assert_eq!(event.metadata.run_id.as_deref(), Some(answered.run_id.as_str()));
    assert_eq!(record.emits.first, [event.metadata.emit_id]);
}

#[tokio::test]
async fn what_one_request_caused_has_one_trace_across_sources_and_deliveries() {
    let stage = Stage::new().await;
    let first = stage.endpoint("first", json!({})).await;
    let second = stage.deploy("second", json!({})).await;
    stage.subscribe(first.id.as_str(), second.id.as_str(), "default").await;

    stage.post(&first, json!({"a": 1})).await.unwrap();
    stage.post(&first, json!({"a": 2})).await.unwrap();
    stage.world.clock.advance(1);
    stage.work().await;

    let of_second = of_source(&stage, &second).await;
    assert_eq!(of_second.len(), 2);
    assert_eq!(of_second[0].record.trigger.kind, TriggerKind::Event);
    let trace_id = Some(of_second[0].record.trace_id);
    let traced = all(&stage, &RunQuery { trace_id, ..RunQuery::default() }).await;
    let emitters: Vec<&str> = traced.iter().map(|view| view.record.emitter_id.as_str()).collect();
    assert_eq!(emitters, [second.id.as_str(), first.id.as_str()]);
}

#[tokio::test]
async fn a_failed_run_tells_its_error_and_lists_can_be_narrowed_to_it() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("fails", |call| if call["event"] == 1 { threw("no") } else { returned(&json!(null)) });
    let source = stage.deploy("fails", json!({})).await;
    for event in [json!(0), json!(1), json!(2)] {
        stage.world.clock.advance(1000);
        sources::run(&stage.caller, &stage.world.platform, source.id.as_str(), event).await.unwrap();
    }

    let failed = all(&stage, &RunQuery { state: Some(State::Error), ..RunQuery::default() }).await;
    let newest_two = of_source(&stage, &source).await;
    let after = Some(newest_two[1].record.id.clone());
    let oldest = all(&stage, &RunQuery { after, ..RunQuery::default() }).await;
    let since_ms = Some(newest_two[0].record.started_at_ms);
    let newest = all(&stage, &RunQuery { since_ms, ..RunQuery::default() }).await;

    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0].record.error.as_ref().unwrap().message, "no");
    assert_eq!((newest_two.len(), oldest.len(), newest.len()), (3, 1, 1));
    assert_eq!(oldest[0].record.id, newest_two[2].record.id);
}

#[tokio::test]
async fn a_record_tells_what_a_run_responded_and_only_so_many_are_kept() {
    let world = crate::fake::World::new(|config| config.limits.runs_kept = 2);
    let stage = Stage::with(world, crate::flow::Config::default()).await;
    stage.world.sandbox.script_async("web", |_, services| async move {
        services.reply(Reply { status: 418, headers: Vec::new(), body: "".into() });
        returned(&json!(null))
    });
    let http = json!({"props": {"http": {"type": "$.interface.http", "customResponse": true}}});
    let source = stage.deploy("web", http).await;

    for _ in 0..5 {
        stage.post(&source, json!({})).await.unwrap();
    }

    let kept = of_source(&stage, &source).await;
    assert_eq!((kept.len(), kept[0].record.reply_status), (2, Some(418)));
}

#[tokio::test]
async fn nothing_is_recorded_when_records_are_switched_off() {
    let world = crate::fake::World::new(|config| config.limits.runs_kept = 0);
    let stage = Stage::with(world, crate::flow::Config::default()).await;
    let source = stage.endpoint("echo", json!({})).await;

    stage.post(&source, json!({})).await.unwrap();

    assert!(of_source(&stage, &source).await.is_empty());
}

#[tokio::test]
async fn another_account_sees_no_run() {
    let stage = Stage::new().await;
    let source = stage.deploy("mine", json!({})).await;
    let run = sources::run(&stage.caller, &stage.world.platform, source.id.as_str(), json!({})).await.unwrap();
    let ada = stage.world.user(&stage.caller, "ada").await;

    let found = runs::find(&ada, &stage.world.platform, &run.run_id).await;
    let listed = runs::of_all(&ada, &stage.world.platform, &RunQuery::default()).await.unwrap();
    let of_mine = runs::of_source(&ada, &stage.world.platform, source.id.as_str(), &RunQuery::default()).await;

    assert!(matches!(found, Err(crate::Error::NotFound { .. })));
    assert!(listed.items.is_empty());
    assert!(matches!(of_mine, Err(crate::Error::NotFound { .. })));
}
