//! Triggers of workflows from version to version: timers, subscriptions, and sources that come with a workflow.

use serde_json::{Value, json};

use super::Stage;
use super::workflow_runs::{code, deploy};
use crate::Error;
use crate::fake::component;
use crate::manage::components::{self, CodeRequest};
use crate::manage::sources;
use crate::manage::workflows::{self, WorkflowChange};
use crate::records::Workflow;

async fn update(stage: &Stage, workflow: &Workflow, change: impl Into<WorkflowChange>) -> Workflow {
    workflows::update(&stage.caller, &stage.world.platform, workflow.id.as_str(), change.into()).await.unwrap()
}

async fn ran_after(stage: &Stage, seconds: u64) -> usize {
    let before = stage.world.sandbox.called().len();
    stage.world.clock.advance(seconds * 1000);
    stage.work().await;
    stage.world.sandbox.called().len() - before
}

fn every(seconds: u64) -> Value {
    json!({"type": "timer", "interval_seconds": seconds})
}

#[tokio::test]
async fn an_interval_goes_on_through_deploys_until_it_is_changed() {
    let stage = Stage::new().await;
    let workflow = deploy(&stage, json!({"triggers": [every(100), every(60)], "steps": [code("a")]})).await;
    assert_eq!(ran_after(&stage, 50).await, 0);

    update(&stage, &workflow, json!({"steps": [code("b")]})).await;
    // The other one goes; this one is at another place.
    update(&stage, &workflow, json!({"triggers": [every(60)]})).await;
    update(&stage, &workflow, WorkflowChange { project: Some("folder".to_owned()), ..WorkflowChange::default() }).await;
    assert_eq!((ran_after(&stage, 9).await, ran_after(&stage, 1).await), (0, 1));

    assert_eq!(ran_after(&stage, 30).await, 0);
    update(&stage, &workflow, json!({"triggers": [every(61)]})).await;
    assert_eq!((ran_after(&stage, 60).await, ran_after(&stage, 1).await), (0, 1));

    // A workflow that was paused begins anew.
    assert_eq!(ran_after(&stage, 60).await, 0);
    for active in [false, true] {
        update(&stage, &workflow, WorkflowChange { active: Some(active), ..WorkflowChange::default() }).await;
    }
    assert_eq!((ran_after(&stage, 60).await, ran_after(&stage, 1).await), (0, 1));
}

#[tokio::test]
async fn a_source_that_is_named_twice_starts_one_run_and_goes_on_while_one_of_them_stays() {
    let stage = Stage::new().await;
    let source = stage.endpoint("emitter", json!({})).await;
    let named = json!({"type": "source", "source_id": source.id});
    let workflow = deploy(&stage, json!({"triggers": [named, named], "steps": [code("a")]})).await;
    let actions = || stage.world.sandbox.called().iter().filter(|call| *call == "action").count();

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    assert_eq!(actions(), 1);

    update(&stage, &workflow, json!({"triggers": [named]})).await;
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    assert_eq!(actions(), 2);

    update(&stage, &workflow, json!({"triggers": []})).await;
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    assert_eq!(actions(), 2);
}

/// A workflow with a source of its own.
async fn with_source(stage: &Stage) -> (Workflow, Value) {
    let code_of =
        CodeRequest { component_code: Some(component("polls", json!({"key": "polls"}))), ..Default::default() };
    components::create(&stage.caller, &stage.world.platform, code_of).await.unwrap();
    let document = json!({"triggers": [{"type": "component", "component_key": "polls"}], "steps": [code("a")]});
    (deploy(stage, document.clone()).await, document)
}

async fn is_active(stage: &Stage, source: &str) -> Option<bool> {
    match sources::find(&stage.caller, &stage.world.platform, source).await {
        Ok(source) => Some(source.is_active),
        Err(Error::NotFound { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn the_source_of_a_paused_workflow_stays_paused_when_it_is_rolled_back() {
    let stage = Stage::new().await;
    let (workflow, _) = with_source(&stage).await;
    let pause = WorkflowChange { active: Some(false), ..WorkflowChange::default() };
    update(&stage, &workflow, json!({"triggers": []})).await;
    update(&stage, &workflow, pause).await;

    let back = workflows::rollback(&stage.caller, &stage.world.platform, workflow.id.as_str(), 1).await.unwrap();

    let source = &back.triggers[0].id;
    assert_eq!((back.is_active, is_active(&stage, source).await), (false, Some(false)));
    let resume = WorkflowChange { active: Some(true), ..WorkflowChange::default() };
    update(&stage, &workflow, resume).await;
    assert_eq!(is_active(&stage, source).await, Some(true));
}

#[tokio::test]
async fn a_source_that_was_deleted_by_hand_is_made_again_with_the_next_deploy() {
    let stage = Stage::new().await;
    let (workflow, document) = with_source(&stage).await;
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let deleted = workflow.triggers[0].id.clone();
    sources::delete(caller, platform, &deleted, true).await.unwrap();

    let paused = WorkflowChange { active: Some(false), ..WorkflowChange::default() };
    assert!(!update(&stage, &workflow, paused).await.is_active, "what is gone does not keep it from being paused");
    let change = WorkflowChange { active: Some(true), ..WorkflowChange::from(document) };
    let updated = update(&stage, &workflow, change).await;

    let made = updated.triggers[0].id.clone();
    assert_ne!(made, deleted);
    assert_eq!(is_active(&stage, &made).await, Some(true));
    sources::run(caller, platform, &made, json!({"n": 1})).await.unwrap();
    stage.work().await;
    assert!(stage.world.sandbox.called().contains(&"action".to_owned()));
}
