//! Requests to endpoints of workflows.

use serde_json::{Value, json};

use super::Stage;
use super::crash::mortal;
use super::workflow_runs::{code, deploy, pausing};
use crate::Error;
use crate::fake::returned;
use crate::flow::{Answer, Config, Flow, Refusal};
use crate::manage::events::EventQuery;
use crate::manage::workflows::{self, RunListQuery};
use crate::ports::Reply;
use crate::records::{TriggerRecordKind, Workflow};

async fn http(stage: &Stage, custom_response: bool, steps: &[&str]) -> Workflow {
    let steps: Vec<Value> = steps.iter().map(|name| code(name)).collect();
    let triggers = json!([{"type": "http", "custom_response": custom_response}]);
    deploy(stage, json!({"triggers": triggers, "steps": steps})).await
}

async fn post(stage: &Stage, workflow: &Workflow, event: Value) -> Result<Answer, Refusal> {
    let TriggerRecordKind::Http { key, .. } = &workflow.triggers[0].kind else { panic!("an endpoint") };
    let admitted = stage.handle.admit(key.as_str()).await?;
    stage.handle.trigger(admitted, event).await.map(|answered| answered.answer)
}

async fn states(stage: &Stage, workflow: &Workflow) -> Vec<&'static str> {
    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let query = RunListQuery::default();
    let listed = workflows::list_runs(caller, platform, workflow.id.as_str(), &query).await.unwrap();
    listed.items.iter().map(|run| run.state.as_str()).collect()
}

#[tokio::test]
async fn a_chain_of_pure_steps_is_one_commit() {
    let mut stage = Stage::new().await;
    let workflow = http(&stage, false, &["a", "b", "c"]).await;
    let (platform, store) = mortal(&stage, usize::MAX, false);
    (stage.handle, _) = Flow::new(platform, stage.world.chores(), Config::default());

    let answer = post(&stage, &workflow, json!({})).await.unwrap();

    assert_eq!(answer, Answer::Accepted);
    assert_eq!(store.commits(), 1);
    assert_eq!((stage.world.sandbox.called().len(), states(&stage, &workflow).await), (3, vec!["success"]));
}

#[tokio::test]
async fn a_request_that_finds_no_place_for_a_run_is_queued_and_runs_later() {
    let stage = Stage::new().await;
    let workflow = http(&stage, false, &["a", "b"]).await;
    let responding = http(&stage, true, &["a"]).await;
    stage.world.sandbox.set_full(true);

    let answer = post(&stage, &workflow, json!({})).await.unwrap();
    let refused = post(&stage, &responding, json!({})).await;
    let before = states(&stage, &workflow).await;
    stage.world.sandbox.set_full(false);
    stage.work().await;

    assert_eq!((answer, before), (Answer::Accepted, vec!["queued"]));
    assert!(matches!(refused, Err(Refusal::Full(_))), "a client that waits for a response is told to come back");
    assert_eq!(states(&stage, &workflow).await, ["success"]);
}

#[tokio::test]
async fn a_request_without_a_place_in_the_queue_is_refused_and_told_in_errors() {
    let stage = Stage::new().await;
    let settings = json!({"concurrency": 1, "queue_size": 1});
    let document = json!({"settings": settings, "triggers": [{"type": "http"}], "steps": [code("a")]});
    let workflow = deploy(&stage, document).await;

    let first = post(&stage, &workflow, json!({"n": 1})).await;
    let second = post(&stage, &workflow, json!({"n": 2})).await;

    assert!(matches!(first, Ok(Answer::Accepted)));
    assert!(matches!(second, Err(Refusal::Unavailable(Error::QueueFull { size: 1 }))), "{second:?}");
    let query = EventQuery { is_expanded: true, ..EventQuery::default() };
    let told = workflows::errors(&stage.caller, &stage.world.platform, workflow.id.as_str(), query).await.unwrap();
    let told: Vec<_> =
        told.items.iter().map(|error| (&error.event["error"]["code"], &error.event["original_event"])).collect();
    assert_eq!(told, [(&json!("queue_full"), &json!({"n": 2}))]);
}

#[tokio::test]
async fn what_steps_did_is_committed_before_a_request_of_a_later_step_leaves() {
    let stage = Stage::new().await;
    let (store, tenant) = (stage.world.store.clone(), stage.caller.tenant.clone());
    stage.world.sandbox.script_async("requests", move |_, services| {
        let (store, tenant) = (store.clone(), tenant.clone());
        async move {
            let stored =
                async || store::Reads::records(&*store, &tenant, "workflow_run", store::Page::newest(1)).await.unwrap();
            let before = stored().await.total;
            services.before_request(Vec::new()).await.unwrap();
            let after = stored().await;
            let text = String::from_utf8_lossy(&after.items[0].value).into_owned();
            returned(&json!({"before": before, "after": after.total, "has_a": text.contains("\"namespace\":\"a\"")}))
        }
    });
    let workflow = http(&stage, false, &["a", "requests", "b"]).await;

    post(&stage, &workflow, json!({})).await.unwrap();

    let call = stage.world.sandbox.calls().pop().unwrap();
    let seen = &call["steps"]["requests"]["$return_value"];
    assert_eq!(seen, &json!({"before": 0, "after": 1, "has_a": true}));
    assert_eq!(states(&stage, &workflow).await, ["success"]);
}

#[tokio::test]
async fn a_custom_response_is_what_a_step_responds_and_without_one_that_is_said() {
    let stage = Stage::new().await;
    let reply = || Reply { status: 201, headers: Vec::new(), body: "made".into() };
    stage.world.sandbox.script_async("responds", move |_, services| async move {
        services.reply(reply());
        crate::ports::Outcome { has_replied: true, ..returned(&json!(null)) }
    });
    stage.world.sandbox.script("asks", |_| pausing(&json!({"kind": "suspend", "ms": 1000})));
    let responds = http(&stage, true, &["responds", "b"]).await;
    let silent = http(&stage, true, &["b"]).await;
    let pauses = http(&stage, true, &["asks", "responds"]).await;

    assert_eq!(post(&stage, &responds, json!({})).await.unwrap(), Answer::Replied(reply()));
    assert!(matches!(post(&stage, &silent, json!({})).await, Err(Refusal::NotResponded { .. })));
    assert!(matches!(post(&stage, &pauses, json!({})).await, Err(Refusal::NotResponded { .. })));
    stage.wait_for_runs().await;
    assert_eq!(states(&stage, &responds).await, ["success"]);
}

#[tokio::test]
async fn a_slow_run_is_accepted_first_and_one_of_an_inactive_workflow_is_not_found() {
    let stage = Stage::new().await;
    let hold = stage.script_slow();
    let workflow = http(&stage, false, &["slow"]).await;
    let TriggerRecordKind::Http { key, .. } = workflow.triggers[0].kind.clone() else { panic!("an endpoint") };
    let handle = stage.handle.clone();
    let asked = key.clone();
    let asking = tokio::spawn(async move {
        let admitted = handle.admit(asked.as_str()).await?;
        handle.trigger(admitted, json!({})).await.map(|answered| answered.answer)
    });
    hold.started.notified().await;
    stage.world.clock.advance(5);

    assert_eq!(asking.await.unwrap().unwrap(), Answer::Accepted);
    assert_eq!(states(&stage, &workflow).await, ["executing"]);
    hold.released.notify_one();
    stage.wait_for_runs().await;
    assert_eq!(states(&stage, &workflow).await, ["success"]);

    let change = workflows::WorkflowChange { active: Some(false), ..workflows::WorkflowChange::default() };
    workflows::update(&stage.caller, &stage.world.platform, workflow.id.as_str(), change).await.unwrap();
    assert!(matches!(stage.handle.admit(key.as_str()).await, Err(Refusal::NotFound)));
}
