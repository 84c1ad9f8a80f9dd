//! A host that dies at any commit of a run: the run completes elsewhere, and no committed step runs again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use store::{Page, Reads};

use super::Stage;
use super::crash::mortal;
use super::workflow_runs::{asking, code, deploy, pausing};
use crate::fake::{component, returned};
use crate::flow::{Config, Flow};
use crate::manage::components;
use crate::manage::components::CodeRequest;
use crate::manage::events::EventQuery;
use crate::manage::workflows::{self, RunListQuery};
use crate::ports::{EffectKind, Outcome, Posting, Recipients};
use crate::records::Workflow;

type Ran = Arc<Mutex<Vec<String>>>;

/// Where an action sends to, and where the webhook listens.
const SENT: &str = "https://example.com/sent";
const HEARD: &str = "https://example.com/heard";

/// A step that writes down that it ran, and fails the test when it was committed before.
fn script(stage: &Stage, ran: &Ran, name: &'static str, has_request: bool, outcome: fn() -> Outcome) {
    let (store, tenant, ran) = (stage.world.store.clone(), stage.caller.tenant.clone(), ran.clone());
    stage.world.sandbox.script_async(name, move |_, services| {
        let (store, tenant, ran) = (store.clone(), tenant.clone(), ran.clone());
        async move {
            let stored = store.records(&tenant, "workflow_run", Page::newest(10)).await.unwrap();
            for record in stored.items {
                let run: Value = serde_json::from_slice(&record.value).unwrap();
                let steps = run["data"]["steps"].as_array().cloned().unwrap_or_default();
                assert!(steps.iter().all(|step| step["namespace"] != name), "{name} was committed and ran again");
            }
            ran.lock().unwrap().push(name.to_owned());
            if has_request && services.before_request(Vec::new()).await.is_err() {
                // As the sandbox ends a run whose host function failed.
                return std::future::pending().await;
            }
            outcome()
        }
    });
}

async fn deployed(stage: &Stage, ran: &Ran) -> Workflow {
    script(stage, ran, "a", false, || returned(&json!(1)));
    script(stage, ran, "b", true, || returned(&json!(2)));
    script(stage, ran, "waits", false, || pausing(&json!({"kind": "delay", "ms": 1000})));
    script(stage, ran, "left", true, || returned(&json!(3)));
    script(stage, ran, "right", false, || returned(&json!(4)));
    script(stage, ran, "mails", false, || asking(EffectKind::SendEmail, &json!({"subject": "s", "text": "t"})));
    script(stage, ran, "sends", true, || asking(EffectKind::SendHttp, &json!({"url": SENT, "data": {"n": 1}})));
    script(stage, ran, "emits", false, || asking(EffectKind::SendEmit, &json!({"done": true})));
    stage.world.sandbox.script("step routes", |_| returned(&json!(1)));
    stage.world.relays.send_email_from("noreply@wells.test", Recipients::Owner);
    for action in ["mails", "sends", "emits"] {
        let component_code = component(action, json!({"type": "action", "key": action}));
        let request = CodeRequest { component_code: Some(component_code), ..CodeRequest::default() };
        components::create(&stage.caller, &stage.world.platform, request).await.unwrap();
    }
    let action = |name: &str| json!({"namespace": name, "component_key": name});
    let source = stage.endpoint("emitter", json!({})).await;
    let steps = json!([
        code("a"),
        code("b"),
        code("waits"),
        {"namespace": "both", "parallel": {"left": {"steps": [code("left")]}, "right": {"steps": [code("right")]}}},
        {"namespace": "routes", "if": [
            {"when": "{{ false }}", "steps": [code("never")]},
            {"when": "{{ true }}", "steps": [action("mails"), action("sends")]},
        ]},
        action("emits"),
    ]);
    let triggers = json!([{"type": "source", "source_id": source.id}]);
    let workflow = deploy(stage, json!({"triggers": triggers, "steps": steps})).await;
    stage.webhook_of(workflow.id.as_str(), HEARD).await;
    stage.post(&source, json!({"n": 1})).await.unwrap();
    workflow
}

async fn survive(dies_at: usize, dies_after: bool) {
    let mut stage = Stage::new().await;
    let ran = Ran::default();
    let workflow = deployed(&stage, &ran).await;
    let case = format!("dies at commit {dies_at}, after it: {dies_after}");

    let immortal = stage.handle.clone();
    (stage.handle, _) = Flow::new(mortal(&stage, dies_at, dies_after).0, stage.world.chores(), Config::default());
    for _ in 0..4 {
        // A step whose host died is never answered: the host's work is dropped with it.
        tokio::select! {
            biased;
            _ = stage.work() => {}
            () = idle() => {}
        }
        stage.world.clock.advance(1000);
    }
    stage.handle = immortal;
    for _ in 0..6 {
        stage.world.clock.advance(60_000);
        stage.work().await;
    }

    let (caller, platform, id) = (&stage.caller, &stage.world.platform, workflow.id.as_str());
    let runs = workflows::list_runs(caller, platform, id, &RunListQuery::default()).await.unwrap();
    let states: Vec<&str> = runs.items.iter().map(|run| run.state.as_str()).collect();
    assert_eq!(states, ["success"], "{case}");
    let shown = workflows::find_run(caller, platform, id, runs.items[0].id.as_str()).await.unwrap();
    let mut steps: Vec<String> = shown.steps.unwrap().into_iter().map(|step| step.namespace).collect();
    steps.sort();
    let expected = ["a", "b", "emits", "left", "mails", "right", "routes", "sends", "waits"];
    assert_eq!(steps, expected, "{case}");
    let events = workflows::events(caller, platform, id, &EventQuery::default()).await.unwrap();
    assert_eq!(events.items.len(), 1, "{case}");
    // Each effect was committed once: it may go out twice, when the host dies after it, but never as another one.
    let posted = stage.world.outbound.posted();
    let to = |url: &str| posted.iter().filter(|posting| posting.url == url).cloned().collect::<Vec<_>>();
    let header =
        |posting: &Posting| posting.headers.iter().find(|(name, _)| name == "webhook-id").map(|(_, id)| id.clone());
    let heard: BTreeSet<Option<String>> = to(HEARD).iter().map(header).collect();
    assert_eq!((heard.len(), heard.contains(&None)), (1, false), "{case}");
    assert!((1..=2).contains(&to(SENT).len()), "{case}: {}", to(SENT).len());
    let mails = stage.world.relays.emails();
    let message_id = |message: &str| message.lines().find(|line| line.starts_with("Message-ID:")).map(str::to_owned);
    let ids: BTreeSet<Option<String>> = mails.iter().map(|(_, message)| message_id(message)).collect();
    assert_eq!((ids.len(), ids.contains(&None)), (1, false), "{case}: {mails:?}");
}

/// Long enough for everything that can still happen to happen.
async fn idle() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_run_completes_wherever_its_host_dies_and_no_committed_step_runs_again() {
    // The delivery, the steps before a request, the step with it, the pause, both branches, the request of an action, the end,
    // and what is sent: an e-mail, a request, a webhook. Beyond that no host dies.
    for dies_at in 0..18 {
        survive(dies_at, false).await;
        survive(dies_at, true).await;
    }
}
