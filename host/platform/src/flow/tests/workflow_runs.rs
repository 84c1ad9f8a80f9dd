//! Runs of workflows: control flow, pauses, settings, versions.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Stage;
use crate::Error;
use crate::fake::{component, returned, threw};
use crate::manage::events::EventQuery;
use crate::manage::workflows::{self, RunListQuery, RunPath, WorkflowChange, WorkflowRunView};
use crate::ports::{Effect, EffectKind, Outcome};
use crate::records::Workflow;
use crate::records::workflow_run::RunState;

/// A code step that does what the script of this name does.
pub(super) fn code(name: &str) -> Value {
    json!({"namespace": name, "code": component(name, json!({}))})
}

/// What a step leaves that pauses.
pub(super) fn pausing(parameters: &Value) -> Outcome {
    asking(EffectKind::Export, &json!({"name": "$pause", "value": parameters}))
}

pub(super) fn asking(kind: EffectKind, parameters: &Value) -> Outcome {
    let parameters = serde_json::value::to_raw_value(parameters).unwrap();
    Outcome { effects: vec![Effect { kind, parameters }], ..returned(&json!(null)) }
}

pub(super) async fn deploy(stage: &Stage, document: Value) -> Workflow {
    workflows::create(&stage.caller, &stage.world.platform, document).await.unwrap()
}

async fn run(stage: &Stage, workflow: &Workflow, event: Value) -> WorkflowRunView {
    workflows::run(&stage.caller, &stage.world.platform, workflow.id.as_str(), event).await.unwrap()
}

pub(super) async fn find(stage: &Stage, workflow: &Workflow, run: &WorkflowRunView) -> WorkflowRunView {
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    workflows::find_run(caller, platform, workflow.id.as_str(), run.id.as_str()).await.unwrap()
}

async fn states(stage: &Stage, workflow: &Workflow) -> Vec<&'static str> {
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let query = RunListQuery::default();
    let listed = workflows::list_runs(caller, platform, workflow.id.as_str(), &query).await.unwrap();
    listed.items.iter().map(|run| run.state.as_str()).collect()
}

async fn error_codes(stage: &Stage, workflow: &Workflow) -> Vec<Value> {
    let query = EventQuery { is_expanded: true, ..EventQuery::default() };
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let page = workflows::errors(caller, platform, workflow.id.as_str(), query).await.unwrap();
    page.items.into_iter().map(|summary| summary.event["error"]["code"].clone()).collect()
}

/// Scripts that write down their names, and return what they see of other steps.
fn notes(stage: &Stage, names: &[&str]) -> Arc<Mutex<Vec<String>>> {
    let noted = Arc::<Mutex<Vec<String>>>::default();
    for name in names {
        let (noted, own) = (noted.clone(), (*name).to_owned());
        stage.world.sandbox.script(name, move |call| {
            noted.lock().unwrap().push(own.clone());
            let seen = call["steps"].as_object().unwrap().keys();
            let mut seen: Vec<&String> = seen.filter(|name| *name != "$run").collect();
            seen.sort();
            returned(&json!(seen))
        });
    }
    noted
}

#[tokio::test]
async fn branches_loops_and_parallel_blocks_run_as_they_decide_and_steps_see_their_scope() {
    let stage = Stage::new().await;
    let noted = notes(&stage, &["a", "b", "c", "d", "after"]);
    stage.world.sandbox.script("step route", |_| returned(&json!(1)));
    stage.world.sandbox.script("step each", |_| returned(&json!([7, 8])));
    let steps = json!([
        {"namespace": "route", "if": [{"when": "{{ x }}", "steps": [code("a")]}, {"else": true, "steps": [code("b")]}]},
        {"namespace": "both", "parallel": {"left": {"steps": [code("c")]}, "right": {"steps": []}}},
        {"namespace": "each", "for_each": "{{ y }}", "as": "one", "steps": [code("d")]},
        code("after"),
    ]);
    let workflow = deploy(&stage, json!({"steps": steps})).await;

    let ended = run(&stage, &workflow, json!({"n": 1})).await;

    assert_eq!((ended.state, ended.error.is_none()), (RunState::Success, true));
    assert_eq!(*noted.lock().unwrap(), ["b", "c", "d", "d", "after"]);
    let exports = ended.exports.unwrap();
    assert_eq!(exports["both"]["left"]["$return_value"], json!(["route", "trigger"]));
    assert_eq!(exports["each"]["$return_value"][1], json!(["both", "each", "one", "route", "trigger"]));
    assert_eq!(exports["after"]["$return_value"], json!(["both", "each", "route", "trigger"]));
    let shown = find(&stage, &workflow, &ended_view(&stage, &workflow).await).await;
    let ran: Vec<&str> = shown.steps.as_ref().unwrap().iter().map(|step| step.namespace.as_str()).collect();
    assert_eq!(ran, ["route", "b", "c", "each", "d", "d", "after"]);
    assert_eq!(shown.steps.unwrap()[5].iteration, [1]);
}

async fn ended_view(stage: &Stage, workflow: &Workflow) -> WorkflowRunView {
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let listed = workflows::list_runs(caller, platform, workflow.id.as_str(), &RunListQuery::default()).await.unwrap();
    listed.items.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_step_knows_the_event_its_context_and_the_urls_of_its_run() {
    let stage = Stage::new().await;
    let workflow = deploy(&stage, json!({"settings": {"name": "Orders"}, "steps": [code("a")]})).await;

    let ended = run(&stage, &workflow, json!({"n": 1})).await;

    let call = stage.world.sandbox.calls().pop().unwrap();
    let (trigger, context) = (&call["steps"]["trigger"], &call["steps"]["$run"]["context"]);
    assert_eq!(trigger["event"], json!({"n": 1}));
    assert_eq!(
        (&trigger["context"]["workflow_name"], &trigger["context"]["source_type"]),
        (&json!("Orders"), &json!("MANUAL"))
    );
    assert_eq!((&context["run"]["runs"], &context["attempt"]), (&json!(1), &json!(1)));
    let start = format!("https://wellspring.test/v1/resume/{}/{}/", stage.caller.tenant, ended.id);
    assert!(call["steps"]["$run"]["resume_url"].as_str().unwrap().starts_with(&start), "{call}");
}

/// The tenant, run and key of the URL that the last call was given.
fn key_of_last_call(stage: &Stage) -> (String, String, String) {
    let calls = stage.world.sandbox.calls();
    let url = calls.iter().rev().find_map(|call| call["steps"]["$run"]["resume_url"].as_str()).unwrap();
    let parts: Vec<&str> = url.rsplit('/').take(3).collect();
    (parts[2].to_owned(), parts[1].to_owned(), parts[0].to_owned())
}

#[tokio::test]
async fn a_suspended_run_goes_on_once_its_url_is_called_and_only_once() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("asks", |_| pausing(&json!({"kind": "suspend", "ms": 60_000})));
    stage.world.sandbox.script("b", |call| returned(&call["steps"]["asks"]["$resume_data"]));
    let workflow = deploy(&stage, json!({"steps": [code("asks"), code("b")]})).await;
    let paused = run(&stage, &workflow, json!({})).await;
    let (tenant, run_id, key) = key_of_last_call(&stage);
    assert_eq!((paused.state, states(&stage, &workflow).await), (RunState::Paused, vec!["paused"]));

    let platform = &stage.world.platform;
    let wrong = RunPath { tenant: &tenant, run: &run_id, key: "0000000000000000000000" };
    assert!(matches!(workflows::resume_by_key(platform, &wrong, &json!(1)).await, Err(Error::NotFound { .. })));
    let right = RunPath { key: &key, ..wrong };
    workflows::resume_by_key(platform, &right, &json!({"ok": true})).await.unwrap();
    assert!(workflows::resume_by_key(platform, &right, &json!({})).await.is_err(), "a key is used once");
    stage.work().await;

    let ended = find(&stage, &workflow, &paused).await;
    assert_eq!((ended.state, &ended.exports.unwrap()["b"]["$return_value"]), (RunState::Success, &json!({"ok": true})));
    stage.world.clock.advance(120_000);
    assert_eq!(stage.work().await, 0, "nothing is due any more");
}

#[tokio::test]
async fn a_delay_ends_by_itself_and_a_rerun_runs_the_step_again_with_its_context() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("waits", |_| pausing(&json!({"kind": "delay", "ms": 1000})));
    stage.world.sandbox.script("polls", |call| match call["steps"]["$run"]["context"]["run"]["runs"].as_u64() {
        Some(3) => returned(&call["steps"]["$run"]["context"]["run"]["context"]),
        _ => pausing(&json!({"kind": "rerun", "ms": 500, "context": {"n": 1}, "max_retries": 10})),
    });
    let workflow = deploy(&stage, json!({"steps": [code("waits"), code("polls")]})).await;
    let paused = run(&stage, &workflow, json!({})).await;

    for (advance_ms, expected) in [(999, "paused"), (1, "paused"), (500, "paused"), (499, "paused"), (1, "success")] {
        stage.world.clock.advance(advance_ms);
        stage.work().await;
        assert_eq!(states(&stage, &workflow).await, [expected], "after {advance_ms}");
    }

    let ended = find(&stage, &workflow, &paused).await;
    assert_eq!(ended.exports.unwrap()["polls"]["$return_value"], json!({"n": 1}));
}

#[tokio::test]
async fn a_rerun_beyond_its_retries_goes_on() {
    let stage = Stage::new().await;
    stage
        .world
        .sandbox
        .script("polls", |_| pausing(&json!({"kind": "rerun", "ms": 1, "context": null, "max_retries": 2})));
    let workflow = deploy(&stage, json!({"steps": [code("polls")]})).await;
    run(&stage, &workflow, json!({})).await;

    for _ in 0..5 {
        stage.world.clock.advance(1);
        stage.work().await;
    }

    assert_eq!(states(&stage, &workflow).await, ["success"]);
    assert_eq!(stage.world.sandbox.called().iter().filter(|call| *call == "action").count(), 3);
}

#[tokio::test]
async fn a_cancelled_run_does_not_go_on() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("asks", |_| pausing(&json!({"kind": "suspend", "ms": 1000})));
    let workflow = deploy(&stage, json!({"steps": [code("asks"), code("never")]})).await;
    let paused = run(&stage, &workflow, json!({})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());

    workflows::cancel(caller, platform, id, paused.id.as_str()).await.unwrap();
    stage.world.clock.advance(10_000);
    stage.work().await;

    assert_eq!(states(&stage, &workflow).await, ["cancelled"]);
    assert_eq!(stage.world.sandbox.called(), ["action"]);
    let again = workflows::cancel(caller, platform, id, paused.id.as_str()).await;
    assert!(matches!(again, Err(Error::NotPaused { .. })));
}

#[tokio::test]
async fn a_failed_step_is_tried_again_when_the_workflow_says_so() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("fails", |call| match call["steps"]["$run"]["context"]["attempt"].as_u64() {
        Some(3) => returned(&json!("at last")),
        _ => threw("not yet"),
    });
    let workflow = deploy(&stage, json!({"settings": {"auto_retry": true}, "steps": [code("fails")]})).await;
    let paused = run(&stage, &workflow, json!({})).await;
    assert_eq!(paused.state, RunState::Paused);

    for advance_ms in [140_000, 280_000] {
        stage.world.clock.advance(advance_ms);
        stage.work().await;
    }

    let ended = find(&stage, &workflow, &paused).await;
    let steps: Vec<(&str, u32)> =
        ended.steps.as_ref().unwrap().iter().map(|step| (step.state.as_str(), step.attempt)).collect();
    assert_eq!((ended.state, steps), (RunState::Success, vec![("error", 1), ("error", 2), ("success", 3)]));
}

#[tokio::test]
async fn a_run_in_flight_finishes_on_its_version_and_new_ones_take_the_newest() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("asks", |_| pausing(&json!({"kind": "delay", "ms": 1000})));
    let noted = notes(&stage, &["first", "second"]);
    let workflow = deploy(&stage, json!({"steps": [code("asks"), code("first")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    run(&stage, &workflow, json!({})).await;

    let change = WorkflowChange::from(json!({"steps": [code("second")]}));
    let updated = workflows::update(caller, platform, id, change).await.unwrap();
    stage.world.clock.advance(1000);
    stage.work().await;
    run(&stage, &workflow, json!({})).await;
    assert_eq!((updated.version, &noted.lock().unwrap()[..]), (2, &["first".to_owned(), "second".to_owned()][..]));

    let back = workflows::rollback(caller, platform, id, 1).await.unwrap();
    let versions = workflows::versions(caller, platform, id).await.unwrap();
    assert_eq!((back.version, versions.len()), (3, 3));
    assert_eq!(versions[0].document, versions[2].document);
    assert_eq!(run(&stage, &workflow, json!({})).await.state, RunState::Paused);
}

#[tokio::test]
async fn a_run_that_paused_for_longer_than_its_version_is_kept_ends_with_an_error() {
    for resumes in [false, true] {
        let stage = Stage::new().await;
        stage.world.sandbox.script("asks", |_| pausing(&json!({"kind": "delay", "ms": 60_000})));
        let document = json!({"steps": [code("asks"), code("never")]});
        let workflow = deploy(&stage, document.clone()).await;
        let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
        let paused = run(&stage, &workflow, json!({"n": 1})).await;
        if resumes {
            // Its job is there before the version goes.
            workflows::resume(caller, platform, id, paused.id.as_str(), &json!(null)).await.unwrap();
        }
        for _ in 0..50 {
            let change = WorkflowChange::from(document.clone());
            workflows::update(caller, platform, id, change).await.unwrap();
        }

        stage.world.clock.advance(60_000);
        stage.work().await;

        assert_eq!(error_codes(&stage, &workflow).await, [json!("version_gone")], "resumed: {resumes}");
        let ended = find(&stage, &workflow, &paused).await;
        assert_eq!((ended.state, ended.error.unwrap().code.as_str()), (RunState::Error, "version_gone"));
        assert_eq!(ended.event.unwrap(), json!({"n": 1}));
        assert_eq!(stage.world.sandbox.called(), ["action"], "nothing runs");
        assert_eq!(stage.work().await, 0, "nothing is left of it");
    }
}

#[tokio::test]
async fn a_run_is_replayed_on_its_event() {
    let stage = Stage::new().await;
    let workflow = deploy(&stage, json!({"steps": [code("a")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    run(&stage, &workflow, json!({"n": 1})).await;
    let first = ended_view(&stage, &workflow).await;

    let again = workflows::replay(caller, platform, id, first.id.as_str(), false).await.unwrap();
    stage.work().await;

    let call = stage.world.sandbox.calls().pop().unwrap();
    assert_eq!(call["steps"]["trigger"]["event"], json!({"n": 1}));
    assert_eq!(call["steps"]["trigger"]["context"]["replay"], json!(true));
    assert_eq!(find(&stage, &workflow, &again).await.state, RunState::Success);
}

#[tokio::test]
async fn runs_with_a_concurrency_of_one_keep_the_order_of_events_and_a_full_queue_is_told() {
    let stage = Stage::new().await;
    let source = stage.endpoint("emitter", json!({})).await;
    let order = Arc::<Mutex<Vec<Value>>>::default();
    let inside = order.clone();
    stage.world.sandbox.script("a", move |call| {
        inside.lock().unwrap().push(call["steps"]["trigger"]["event"]["n"].clone());
        returned(&json!(null))
    });
    let settings = json!({"concurrency": 1, "queue_size": 3});
    let triggers = json!([{"type": "source", "source_id": source.id}]);
    let workflow = deploy(&stage, json!({"settings": settings, "triggers": triggers, "steps": [code("a")]})).await;
    for n in 0..5 {
        stage.post(&source, json!({"n": n})).await.unwrap();
    }
    // Each delivery queues a run, and runs are not worked on yet.
    for _ in 0..5 {
        for job in stage.lease_jobs().await {
            let is_run = String::from_utf8_lossy(&job.payload).contains("\"job\":\"run\"");
            if !is_run {
                stage.perform_job(&job).await;
            }
        }
    }
    stage.world.clock.advance(31_000);

    stage.work().await;

    assert_eq!(*order.lock().unwrap(), [json!(0), json!(1), json!(2)]);
    assert_eq!(error_codes(&stage, &workflow).await, [json!("queue_full"), json!("queue_full")]);
}

#[tokio::test]
async fn a_throttle_lets_so_many_runs_begin_in_its_interval() {
    let stage = Stage::new().await;
    let settings = json!({"throttle": {"limit": 2, "interval_seconds": 60}});
    let workflow = deploy(&stage, json!({"settings": settings, "steps": [code("a")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    for _ in 0..5 {
        workflows::run_later(caller, platform, id, json!({})).await.unwrap();
    }

    let mut ran = Vec::new();
    for _ in 0..3 {
        stage.work().await;
        ran.push(stage.world.sandbox.called().len());
        stage.world.clock.advance(60_000);
    }

    assert_eq!(ran, [2, 4, 5]);
}

#[tokio::test]
async fn a_timer_starts_runs_while_the_workflow_is_active() {
    let stage = Stage::new().await;
    let triggers = json!([{"type": "timer", "interval_seconds": 60}]);
    let workflow = deploy(&stage, json!({"triggers": triggers, "steps": [code("a")]})).await;
    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let mut ran = Vec::new();
    for _ in 0..2 {
        stage.world.clock.advance(60_000);
        stage.work().await;
        ran.push(stage.world.sandbox.called().len());
    }

    workflows::update(caller, platform, id, WorkflowChange { active: Some(false), ..WorkflowChange::default() })
        .await
        .unwrap();
    stage.world.clock.advance(600_000);
    stage.work().await;

    assert_eq!((ran, stage.world.sandbox.called().len()), (vec![1, 2], 2));
    let call = &stage.world.sandbox.calls()[0];
    assert_eq!(call["steps"]["trigger"]["context"]["source_type"], "TIMER");
}

#[tokio::test]
async fn a_source_that_comes_with_a_workflow_goes_with_it() {
    let stage = Stage::new().await;
    let described = component("polls", json!({"key": "polls", "props": {"url": "string"}}));
    let code_of = crate::manage::components::CodeRequest { component_code: Some(described), ..Default::default() };
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    crate::manage::components::create(caller, platform, code_of).await.unwrap();
    let triggers = json!([{"type": "component", "component_key": "polls", "props": {"url": "https://x"}}]);
    let workflow = deploy(&stage, json!({"triggers": triggers, "steps": [code("a")]})).await;
    let source = workflow.triggers[0].id.clone();

    crate::manage::sources::run(caller, platform, &source, json!({"n": 1})).await.unwrap();
    stage.work().await;
    assert_eq!(states(&stage, &workflow).await, ["success"]);

    workflows::delete(caller, platform, workflow.id.as_str()).await.unwrap();
    stage.work().await;
    assert!(matches!(crate::manage::sources::find(caller, platform, &source).await, Err(Error::NotFound { .. })));
    assert!(matches!(workflows::find(caller, platform, workflow.id.as_str()).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_mistake_in_an_expression_fails_the_deploy_with_its_place() {
    let stage = Stage::new().await;
    let step = json!({"namespace": "a", "code": component("a", json!({"props": {"url": "string"}})), "props": {"url": "x\n {{ syntax error }}"}});
    let (caller, platform) = (&stage.caller, &stage.world.platform);

    let refused = workflows::create(caller, platform, json!({"steps": [step]})).await;

    let Err(Error::Link(error)) = refused else { panic!("{refused:?}") };
    assert_eq!((error.file.as_deref(), error.line), (Some("steps.a.props.url"), Some(2)));
}
