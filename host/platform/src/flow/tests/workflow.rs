//! Workflows that listen.

use std::sync::Arc;

use domain::limits::NESTING_MAXIMUM;
use domain::users::{Plan, Quotas};
use serde_json::{Value, json};
use store::{Page, Reads};

use super::Stage;
use crate::fake::{component, returned, threw};
use crate::manage::components::{self, CodeRequest};
use crate::manage::events::EventQuery;
use crate::manage::runs::{self, RunQuery};
use crate::manage::users::{UserChange, update as update_user};
use crate::manage::workflows::{self, RunListQuery};
use crate::ports::{Effect, EffectKind, Outcome, Write};
use crate::records::{Source, Workflow};

fn effect(kind: EffectKind, parameters: &Value) -> Effect {
    Effect { kind, parameters: serde_json::value::to_raw_value(parameters).unwrap() }
}

fn asking(kind: EffectKind, parameters: &Value) -> Outcome {
    Outcome { effects: vec![effect(kind, parameters)], ..returned(&json!(null)) }
}

/// A step that is a saved action of this name.
async fn step(stage: &Stage, name: &str, props: Value) -> Value {
    let described = component(
        name,
        json!({"type": "action", "props": {"key": {"type": "string", "secret": true, "optional": true}}}),
    );
    let code = CodeRequest { component_code: Some(described), ..CodeRequest::default() };
    let saved = components::create(&stage.caller, &stage.world.platform, code).await.unwrap();
    json!({"namespace": name, "component_id": saved.id, "props": props})
}

async fn create(stage: &Stage, document: Value) -> Workflow {
    workflows::create(&stage.caller, &stage.world.platform, document).await.unwrap()
}

/// A workflow of these steps that listens to a source with an endpoint.
async fn workflow(stage: &Stage, steps: &[&str]) -> (Source, Workflow) {
    let source = stage.endpoint("emitter", json!({})).await;
    let mut made = Vec::new();
    for name in steps {
        made.push(step(stage, name, json!({})).await);
    }
    let triggers = json!([{"type": "source", "source_id": source.id}]);
    let workflow = create(stage, json!({"settings": {"name": "flow"}, "triggers": triggers, "steps": made})).await;
    (source, workflow)
}

async fn events(stage: &Stage, workflow: &Workflow) -> Vec<Value> {
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let page = workflows::events(caller, platform, id, &EventQuery::default()).await.unwrap();
    page.items.into_iter().map(|summary| summary.event).collect()
}

async fn errors(stage: &Stage, workflow: &Workflow) -> Vec<Value> {
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let query = EventQuery { is_expanded: true, ..EventQuery::default() };
    let page = workflows::errors(caller, platform, id, query).await.unwrap();
    page.items.into_iter().map(|summary| summary.event).collect()
}

#[tokio::test]
async fn steps_run_in_order_and_each_finds_what_those_before_it_returned_and_exported() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("first", |call| Outcome {
        effects: vec![effect(EffectKind::Export, &json!({"name": "twice", "value": 2}))],
        ..returned(&call["steps"]["trigger"]["event"]["n"])
    });
    stage.world.sandbox.script("second", |call| asking(EffectKind::SendEmit, &call["steps"]["first"]));
    let (source, workflow) = workflow(&stage, &["first", "second"]).await;

    stage.post(&source, json!({"n": 1})).await.unwrap();
    stage.work().await;

    assert_eq!(events(&stage, &workflow).await, [json!({"raw_event": {"$return_value": 1, "twice": 2}})]);
    assert!(errors(&stage, &workflow).await.is_empty());
}

#[tokio::test]
async fn what_a_workflow_emits_reaches_its_listeners() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("emits", |_| asking(EffectKind::SendEmit, &json!({"raw_event": {"n": 1}})));
    let (source, workflow) = workflow(&stage, &["emits"]).await;
    let listener = stage.deploy("listener", json!({})).await;
    stage.subscribe("p_*", listener.id.as_str(), "").await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    assert_eq!(stage.stream(&listener, "default").await, [json!({"raw_event": {"n": 1}})]);
    assert_eq!(events(&stage, &workflow).await.len(), 1);
}

#[tokio::test]
async fn a_step_that_throws_ends_the_run_and_its_error_has_the_shape_of_the_specification() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("throws", |_| threw("no"));
    let (source, workflow) = workflow(&stage, &["throws", "never"]).await;

    stage.post(&source, json!({"n": 1})).await.unwrap();
    stage.work().await;

    let [error] = errors(&stage, &workflow).await.try_into().unwrap();
    assert_eq!(error["original_event"], json!({"n": 1}));
    assert_eq!((&error["error"]["code"], &error["error"]["cellId"]), (&json!("threw"), &json!("throws")));
    assert!(error["error"]["stack"].as_str().unwrap().contains("no"));
    let context = &error["original_context"];
    assert_eq!((&context["workflow_id"], &context["owner_id"]), (&json!(workflow.id), &json!(stage.caller.user.id)));
    assert_eq!(context["deployment_id"], json!(workflow.deployment_id(1)));
    assert_eq!(
        (&error["metadata"]["emitter_id"], &error["metadata"]["name"]),
        (&json!(workflow.id), &json!("$errors"))
    );
    assert_eq!(stage.world.sandbox.called(), ["run", "action"]);
}

/// The record of a run wraps what its steps return: it could be written, and not be read again.
#[tokio::test]
async fn a_step_that_returns_more_levels_than_a_record_can_hold_fails_and_the_run_can_be_read() {
    let nested = |levels: usize| {
        let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        Outcome { returned: Some(serde_json::value::RawValue::from_string(text).unwrap()), ..Outcome::default() }
    };
    for (levels, state) in [(NESTING_MAXIMUM, "success"), (NESTING_MAXIMUM + 1, "error"), (500, "error")] {
        let stage = Stage::new().await;
        stage.world.sandbox.script("nests", move |_| nested(levels));
        let (source, workflow) = workflow(&stage, &["nests"]).await;

        stage.post(&source, json!({})).await.unwrap();
        stage.work().await;

        let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
        let listed = workflows::list_runs(caller, platform, id, &RunListQuery::default()).await.unwrap();
        let read = workflows::find_run(caller, platform, id, listed.items[0].id.as_str()).await.unwrap();
        assert_eq!(json!(read)["state"], state, "{levels} levels");
    }
}

#[tokio::test]
async fn wrong_parameters_are_an_error_and_nothing_of_the_step_counts() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("sends", |_| Outcome {
        effects: vec![
            effect(EffectKind::SendEmit, &json!({"n": 1})),
            effect(EffectKind::SendHttp, &json!({"url": "nowhere"})),
        ],
        ..returned(&json!(null))
    });
    let (source, workflow) = workflow(&stage, &["sends"]).await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    let [error] = errors(&stage, &workflow).await.try_into().unwrap();
    assert_eq!(error["error"]["code"], "invalid_parameters");
    assert!(error["error"]["stack"].as_str().unwrap().contains("$.send.http.url"));
    assert!(events(&stage, &workflow).await.is_empty());
}

#[tokio::test]
async fn what_this_server_cannot_send_is_said() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("mails", |_| asking(EffectKind::SendEmail, &json!({"subject": "a", "text": "b"})));
    let (source, workflow) = workflow(&stage, &["mails"]).await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    assert_eq!(
        errors(&stage, &workflow).await[0]["error"]["stack"],
        "$.send.email: this server has no mail relay: its operator sets one with --smtp-url"
    );
}

#[tokio::test]
async fn a_step_that_fails_sends_nothing_and_what_steps_before_it_sent_counts() {
    let effects = |n: u64| {
        vec![
            effect(EffectKind::SendEmit, &json!(n)),
            effect(EffectKind::SendHttp, &json!({"url": THERE})),
            effect(EffectKind::Export, &json!({"name": "n", "value": n})),
        ]
    };
    let asks_too_much = move || Outcome {
        effects: effects(2)
            .into_iter()
            .chain([effect(EffectKind::SendEmail, &json!({"subject": "a", "text": "b"}))])
            .collect(),
        ..returned(&json!(null))
    };
    let throws = move || Outcome {
        effects: effects(2),
        writes: vec![Write { key: "k".into(), value: Some("1".into()) }],
        ..threw("no")
    };
    for (fails, code) in [
        (Arc::new(asks_too_much) as Arc<dyn Fn() -> Outcome + Send + Sync>, "unsupported"),
        (Arc::new(throws), "threw"),
    ] {
        let stage = Stage::new().await;
        stage.world.sandbox.script("sends", move |_| Outcome { effects: effects(1), ..returned(&json!(null)) });
        stage.world.sandbox.script("fails", move |_| fails());
        let (source, workflow) = workflow(&stage, &["sends", "fails"]).await;

        stage.post(&source, json!({})).await.unwrap();
        stage.work().await;

        assert_eq!(errors(&stage, &workflow).await[0]["error"]["code"], code);
        assert_eq!(events(&stage, &workflow).await, [json!({"raw_event": 1})], "{code}");
        assert_eq!(stage.posted(), [THERE], "{code}");
    }
}

#[tokio::test]
async fn an_exit_ends_the_run_and_what_was_done_counts() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("exits", |_| Outcome {
        effects: vec![effect(EffectKind::SendEmit, &json!(1)), effect(EffectKind::Exit, &json!({"reason": "enough"}))],
        writes: vec![Write { key: "k".into(), value: Some("1".into()) }],
        ..returned(&json!(null))
    });
    let (source, workflow) = workflow(&stage, &["exits", "never"]).await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    assert_eq!(events(&stage, &workflow).await, [json!({"raw_event": 1})]);
    assert_eq!(stage.world.sandbox.called(), ["run", "action"]);
}

const THERE: &str = "https://example.com/there";

#[tokio::test]
async fn a_request_is_sent_after_the_commit_and_tried_again() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("sends", |_| {
        asking(EffectKind::SendHttp, &json!({"url": THERE, "method": "put", "headers": {"x-a": "b"}, "data": {"n": 1}}))
    });
    let (source, _) = workflow(&stage, &["sends"]).await;
    stage.world.outbound.answer(THERE, 500);

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    stage.world.outbound.answer(THERE, 200);
    stage.world.clock.advance(10_000);
    stage.work().await;
    stage.world.clock.advance(24 * 3600 * 1000);
    stage.work().await;

    let posted = stage.world.outbound.posted();
    assert_eq!(posted.len(), 2);
    assert_eq!((posted[0].method.as_str(), &posted[0].body[..]), ("PUT", &br#"{"n":1}"#[..]));
    assert!(posted[0].headers.contains(&("x-a".to_owned(), "b".to_owned())));
}

#[tokio::test]
async fn a_failing_request_of_one_account_holds_up_no_request_of_another_to_the_same_address() {
    let mut stage = Stage::new().await;
    stage.world.sandbox.script("sends", |_| asking(EffectKind::SendHttp, &json!({"url": THERE})));
    stage.world.outbound.answer(THERE, 500);
    let (first, _) = workflow(&stage, &["sends"]).await;
    stage.post(&first, json!({})).await.unwrap();
    stage.work().await;

    stage.caller = stage.world.user(&stage.caller, "other").await;
    let (second, _) = workflow(&stage, &["sends"]).await;
    stage.post(&second, json!({})).await.unwrap();
    stage.work().await;

    assert_eq!(stage.posted().len(), 2);
}

#[tokio::test]
async fn a_request_that_is_given_up_is_told_in_errors() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("sends", |_| asking(EffectKind::SendHttp, &json!({"url": THERE})));
    let (source, workflow) = workflow(&stage, &["sends"]).await;
    stage.world.outbound.answer(THERE, 410);

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    let [error] = errors(&stage, &workflow).await.try_into().unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["cellId"]), (&json!("not_sent"), &json!("sends")));
}

#[tokio::test]
async fn the_step_that_failed_is_recorded_and_its_input_is_shown() {
    let stage = Stage::new().await;
    let answers = || Some(domain::outcome::Recorded::Kept(vec![1]));
    stage.world.sandbox.script("works", move |_| Outcome { recording: answers(), ..returned(&json!(7)) });
    stage.world.sandbox.script("fails", move |_| Outcome { recording: answers(), ..threw("no") });
    let (source, workflow) = workflow(&stage, &["works", "fails"]).await;
    stage.post(&source, json!({"n": 1})).await.unwrap();
    stage.work().await;

    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let listed = runs::of_all(caller, platform, &RunQuery::default()).await.unwrap().items;
    let of_workflow: Vec<_> = listed.iter().filter(|run| run.record.emitter_id == workflow.id.as_str()).collect();
    let of_step = |name: &str| {
        let of = |run: &&&runs::RunView| run.record.trigger.id.as_deref().is_some_and(|id| id.ends_with(name));
        *of_workflow.iter().find(of).unwrap()
    };
    let (works, run) = (of_step("/works"), of_step("/fails"));
    assert_eq!(of_workflow.len(), 3, "the run, and a record for each of its steps");
    assert_eq!((works.record.recording, works.record.error.is_none()), (domain::runs::Recording::None, true));
    assert_eq!(run.record.recording, domain::runs::Recording::Kept);
    let shown = runs::show(caller, platform, run.record.id.as_str()).await.unwrap();
    let works =
        shown.input.as_ref().and_then(|steps| steps.as_object()?.values().find(|step| step["$return_value"] == 7));
    assert!(works.is_some(), "{:?}", shown.input);
}

#[tokio::test]
async fn workflows_and_sources_that_run_each_other_are_cut() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("emits", |_| asking(EffectKind::SendEmit, &json!(1)));
    let (source, workflow) = workflow(&stage, &["emits"]).await;
    stage.subscribe(workflow.id.as_str(), source.id.as_str(), "").await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    let runs = events(&stage, &workflow).await.len() + stage.stream(&source, "default").await.len();
    let (cut, error) = (errors(&stage, &workflow).await, stage.stream(&source, "$errors").await);
    assert_eq!(cut.len() + error.len(), 1);
    assert!(runs <= 1 + 16, "{runs}");
}

#[tokio::test]
async fn secret_values_reach_the_action_and_are_sealed_in_the_store() {
    let stage = Stage::new().await;
    let source = stage.endpoint("emitter", json!({})).await;
    let triggers = json!([{"type": "source", "source_id": source.id}]);
    let steps = vec![step(&stage, "uses", json!({"key": "hidden value"})).await];
    let workflow = create(&stage, json!({"triggers": triggers, "steps": steps})).await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    assert_eq!(stage.world.sandbox.calls().last().unwrap()["props"]["key"], "hidden value");
    let stored = stage.world.store.records(&stage.caller.tenant, "workflow_version", Page::newest(1)).await.unwrap();
    assert!(!String::from_utf8_lossy(&stored.items[0].value).contains("hidden value"));
    let shown = workflows::show(&stage.caller, &stage.world.platform, workflow.id.as_str()).await.unwrap();
    assert_eq!(shown.steps.unwrap()[0]["props"]["key"], "********");
}

#[tokio::test]
async fn a_workflow_waits_for_the_quota_to_reset() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("emits", |_| asking(EffectKind::SendEmit, &json!(1)));
    let (source, workflow) = workflow(&stage, &["emits"]).await;
    let quotas = Quotas { daily_compute_ms: 1_000_000, daily_invocations: 1 };
    let change = UserChange { plan: Some(Plan::Free { quotas }), ..UserChange::default() };
    update_user(&stage.caller, &stage.world.platform, stage.caller.user.id.as_str(), change).await.unwrap();
    stage.post(&source, json!({})).await.unwrap();

    stage.work().await;
    let before = events(&stage, &workflow).await.len();
    stage.world.clock.advance(24 * 3600 * 1000);
    stage.work().await;

    assert_eq!((before, events(&stage, &workflow).await.len()), (0, 1));
}
