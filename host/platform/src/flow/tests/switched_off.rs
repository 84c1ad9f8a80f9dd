//! Listeners that are switched off: what waited for them is kept, and nothing but their owner switches on what was switched off by
//! hand.

use domain::ids::ListenerId;
use domain::paging::{Limit, PageQuery};
use serde_json::{Value, json};

use super::Stage;
use super::workflow_runs::{code, deploy};
use crate::manage::dead_letters;
use crate::manage::events::{self, EventQuery, Redelivery};
use crate::manage::sources::{self, UpdateSource};
use crate::manage::webhooks::{self, UpdateWebhook};
use crate::manage::workflows::{self, WorkflowChange};
use crate::records::{DeadLetter, Webhook};

const HOOK: &str = "https://example.com/hook";

async fn letters(stage: &Stage) -> Vec<DeadLetter> {
    let everything = PageQuery { limit: Limit::default(), after: None, before: None };
    dead_letters::list(&stage.caller, &stage.world.platform, &everything).await.unwrap().items
}

async fn replay_all(stage: &Stage) {
    for letter in letters(stage).await {
        dead_letters::replay(&stage.caller, &stage.world.platform, &letter.id).await.unwrap();
    }
    stage.work().await;
}

async fn switch(stage: &Stage, listener: &str, is_active: bool) {
    let (caller, platform, active) = (&stage.caller, &stage.world.platform, Some(is_active));
    match listener.split('_').next() {
        Some("wh") => {
            let change = UpdateWebhook { active, ..UpdateWebhook::default() };
            webhooks::update(caller, platform, listener, change).await.map(drop).unwrap();
        }
        Some("dc") => {
            let change = UpdateSource { active, ..UpdateSource::default() };
            sources::update(caller, platform, listener, change).await.map(drop).unwrap();
        }
        _ => {
            let change = WorkflowChange { active, ..WorkflowChange::default() };
            workflows::update(caller, platform, listener, change).await.map(drop).unwrap();
        }
    }
}

/// What listeners of a kind got, in an order of its own.
fn got(stage: &Stage, kind: &str) -> Vec<Value> {
    let calls = stage.world.sandbox.calls();
    match kind {
        "webhook" => {
            let posted = stage.world.outbound.posted();
            posted.iter().map(|posting| serde_json::from_slice(&posting.body).unwrap()).collect()
        }
        "source" => calls.iter().filter(|call| call["kind"] == "run").map(|call| call["event"].clone()).collect(),
        _ => calls.iter().filter_map(|call| call["steps"]["trigger"].get("event").cloned()).collect(),
    }
}

#[tokio::test]
async fn what_waited_when_a_listener_was_switched_off_by_hand_is_kept_and_what_comes_later_is_not() {
    for kind in ["webhook", "source", "workflow"] {
        let stage = Stage::new().await;
        let emitter = stage.endpoint("a", json!({})).await;
        let listener = match kind {
            "webhook" => stage.webhook(HOOK).await.webhook.id.to_string(),
            "source" => stage.deploy("b", json!({})).await.id.to_string(),
            _ => deploy(&stage, json!({"steps": [code("step")]})).await.id.to_string(),
        };
        if kind != "webhook" {
            stage.subscribe(emitter.id.as_str(), &listener, "").await;
        }
        stage.work().await;

        for number in 0..2 {
            stage.post(&emitter, json!({"for": number})).await.unwrap();
        }
        switch(&stage, &listener, false).await;
        stage.world.clock.advance(2_000);
        stage.post(&emitter, json!({"for": 2})).await.unwrap();
        stage.work().await;
        let kept = letters(&stage).await;
        let told: Vec<_> = kept.iter().map(|letter| (letter.reason.clone(), letter.listener.clone())).collect();
        let reason = format!("the {kind} is switched off");
        assert_eq!(told, [(reason.clone(), listener.clone()), (reason, listener.clone())]);

        if kind != "webhook" {
            replay_all(&stage).await;
            assert_eq!(letters(&stage).await.len(), 2, "{kind}: it is off still");
        }
        switch(&stage, &listener, true).await;
        let before = got(&stage, kind).len();
        replay_all(&stage).await;
        let mut replayed = got(&stage, kind).split_off(before);
        replayed.sort_by_key(|event| event["for"].as_u64());
        assert_eq!(replayed, [json!({"for": 0}), json!({"for": 1})], "{kind}");
        assert!(letters(&stage).await.is_empty(), "{kind}");
    }
}

async fn webhook(stage: &Stage, id: &str) -> Webhook {
    webhooks::find(&stage.caller, &stage.world.platform, id).await.unwrap()
}

#[tokio::test]
async fn a_webhook_that_was_switched_off_by_hand_gets_what_is_delivered_again_and_stays_off() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let id = stage.webhook(HOOK).await.webhook.id.to_string();
    stage.post(&source, json!(1)).await.unwrap();
    switch(&stage, &id, false).await;
    stage.work().await;
    let is_off_by_hand = async || {
        let webhook = webhook(&stage, &id).await;
        !webhook.is_active && webhook.inactive_reason.is_none()
    };

    stage.world.outbound.answer(HOOK, 410);
    replay_all(&stage).await;
    assert_eq!((stage.posted().len(), letters(&stage).await.len()), (1, 1));
    assert!(is_off_by_hand().await, "a receiver that is gone is no reason of its owner");
    stage.world.outbound.answer(HOOK, 200);
    replay_all(&stage).await;
    assert_eq!((stage.posted().len(), letters(&stage).await.len()), (2, 0));
    assert!(is_off_by_hand().await);

    let (caller, platform) = (&stage.caller, &stage.world.platform);
    let kept = events::of_source(caller, platform, source.id.as_str(), &EventQuery::default()).await.unwrap();
    let event = kept.items.into_iter().next().unwrap().id;
    let named = Redelivery { listener: Some(ListenerId::parse(&id).unwrap()), ..Redelivery::default() };
    events::redeliver(caller, platform, source.id.as_str(), &event, named).await.unwrap();
    stage.work().await;
    assert_eq!(stage.posted().len(), 3);
    assert!(is_off_by_hand().await);
}
