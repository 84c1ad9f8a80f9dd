//! Kept events, delivered once more by hand.

use domain::ids::ListenerId;
use serde_json::{Value, json};

use super::Stage;
use crate::fake::{World, emit, emit_with, log, returned};
use crate::flow::Config;
use crate::manage::events::{self, EventQuery, Redelivered, Redelivery};
use crate::manage::webhooks::{self, UpdateWebhook};
use crate::ports::Outcome;
use crate::records::Source;
use crate::{Error, Noun};

const HOOK: &str = "https://example.com/hook";
const OTHER: &str = "https://example.com/other";

/// The ids of what a stream keeps, newest first.
async fn ids(stage: &Stage, source: &Source, stream: &str) -> Vec<String> {
    let query = EventQuery { event_name: Some(stream.to_owned()), ..EventQuery::default() };
    let page = events::of_source(&stage.caller, &stage.world.platform, source.id.as_str(), &query).await.unwrap();
    page.items.into_iter().map(|summary| summary.id).collect()
}

async fn redeliver(stage: &Stage, source: &Source, event: &str, request: Redelivery) -> Result<Redelivered, Error> {
    events::redeliver(&stage.caller, &stage.world.platform, source.id.as_str(), event, request).await
}

fn to(listener: &str) -> Redelivery {
    Redelivery { listener: Some(ListenerId::parse(listener).unwrap()), ..Redelivery::default() }
}

fn bodies(stage: &Stage) -> Vec<(String, Value)> {
    let posted = stage.world.outbound.posted().into_iter();
    posted.map(|posting| (posting.url, serde_json::from_slice(&posting.body).unwrap())).collect()
}

#[tokio::test]
async fn a_kept_event_reaches_all_its_listeners_once_more_and_is_not_emitted_again() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let hook = stage.webhook(HOOK).await;
    stage
        .world
        .sandbox
        .script("a", |call| Outcome { emits: vec![emit(&call["event"]["n"])], ..returned(&Value::Null) });
    for n in [1, 2] {
        stage.post(&source, json!({"n": n})).await.unwrap();
    }
    stage.work().await;
    let other = stage.webhook(OTHER).await;
    let first = ids(&stage, &source, "default").await.pop().unwrap();

    let answer = redeliver(&stage, &source, &first, Redelivery::default()).await.unwrap();
    stage.work().await;

    let both = [hook.webhook.id.to_string(), other.webhook.id.to_string()];
    assert_eq!((answer.event_id, answer.listeners.len()), (first, 2));
    assert!(answer.listeners.iter().all(|listener| both.contains(&listener.to_string())));
    let mut again = bodies(&stage).split_off(2);
    again.sort_by(|one, two| one.0.cmp(&two.0));
    assert_eq!(again, [(HOOK.to_owned(), json!(1)), (OTHER.to_owned(), json!(1))]);
    assert_eq!(stage.stream(&source, "default").await, [json!(1), json!(2)]);
    let ids: Vec<String> = stage.world.outbound.posted().iter().map(webhook_id).collect();
    assert_eq!(ids[0], ids[2], "its receiver can tell that it has it");
}

fn webhook_id(posting: &crate::ports::Posting) -> String {
    posting.headers.iter().find(|(name, _)| name == "webhook-id").map(|(_, value)| value.clone()).unwrap()
}

#[tokio::test]
async fn a_named_listener_gets_it_alone_also_when_it_does_not_listen_or_is_switched_off() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let hook = stage.webhook(HOOK).await;
    let stranger = stage.deploy("b", json!({})).await;
    stage.world.sandbox.script("b", |_| returned(&Value::Null));
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    let off = UpdateWebhook { active: Some(false), ..UpdateWebhook::default() };
    webhooks::update(&stage.caller, &stage.world.platform, hook.webhook.id.as_str(), off).await.unwrap();
    let event = ids(&stage, &source, "default").await.pop().unwrap();
    let posted = stage.posted().len();

    redeliver(&stage, &source, &event, Redelivery::default()).await.unwrap();
    stage.work().await;
    assert_eq!(stage.posted().len(), posted, "a webhook that is off stays off when it is not named");
    redeliver(&stage, &source, &event, to(hook.webhook.id.as_str())).await.unwrap();
    redeliver(&stage, &source, &event, to(stranger.id.as_str())).await.unwrap();
    stage.work().await;

    assert_eq!(stage.posted().len(), posted + 1);
    let given = stage.world.sandbox.calls().pop().unwrap();
    assert_eq!((&given["env"]["PD_COMPONENT"], &given["event"]), (&json!(stranger.id), &json!({})));
}

#[tokio::test]
async fn channels_errors_and_log_lines_are_found_by_their_stream() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let hook = stage.webhook(HOOK).await;
    stage.world.sandbox.script("a", |_| Outcome {
        emits: vec![emit_with(&json!("orange"), json!({"name": "orders"})), emit_with(&json!(1), json!({"id": 7}))],
        logs: vec![log("said")],
        ..returned(&Value::Null)
    });
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    let posted = stage.posted().len();
    let named = |stream: &str| Redelivery { event_name: Some(stream.into()), ..to(hook.webhook.id.as_str()) };

    for (stream, looked_in) in [("orders", None), ("orders", Some("orders")), ("$logs", Some("$logs"))] {
        let event = ids(&stage, &source, stream).await.remove(0);
        let request = looked_in.map_or_else(|| to(hook.webhook.id.as_str()), named);
        redeliver(&stage, &source, &event, request).await.unwrap();
    }
    stage.work().await;

    let again = bodies(&stage).split_off(posted);
    assert_eq!((&again[0].1, &again[1].1), (&json!("orange"), &json!("orange")));
    assert_eq!(again[2].1["message"], "said");
    let of_orders = ids(&stage, &source, "orders").await.remove(0);
    let elsewhere = redeliver(&stage, &source, &of_orders, named("default")).await.unwrap_err();
    assert!(matches!(elsewhere, Error::NotFound { noun: Noun::Event, .. }), "{elsewhere}");
}

#[tokio::test]
async fn what_is_not_kept_is_not_found_and_without_listeners_nothing_is_queued() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!({})).await.unwrap();
    let event = ids(&stage, &source, "default").await.pop().unwrap();
    let of_the_deploy = stage.lease_jobs().await;

    let nothing = redeliver(&stage, &source, &event, Redelivery::default()).await.unwrap();

    assert!(nothing.listeners.is_empty());
    for missing in ["1-0", "no id", "18446744073709551615-0", ""] {
        let error = redeliver(&stage, &source, missing, Redelivery::default()).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { noun: Noun::Event, .. }), "{missing}: {error}");
    }
    let listener = redeliver(&stage, &source, &event, to("wh_Ab12Cd34Ef56")).await.unwrap_err();
    assert!(matches!(listener, Error::NotFound { noun: Noun::Webhook, .. }), "{listener}");
    assert!(stage.lease_jobs().await.is_empty(), "beyond the {} of the deploy", of_the_deploy.len());
}

#[tokio::test]
async fn it_is_refused_while_the_queue_of_the_account_is_full_and_delivers_no_more_than_a_trigger_may() {
    let world = World::new(|config| {
        config.limits.deliveries_per_trigger = 2;
        config.shares.queued_jobs = 4;
    });
    let stage = Stage::with(world, Config::default()).await;
    let source = stage.endpoint("a", json!({})).await;
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    for hook in 0..3 {
        stage.webhook(&format!("{HOOK}/{hook}")).await;
    }
    let event = ids(&stage, &source, "default").await.pop().unwrap();

    let first = redeliver(&stage, &source, &event, Redelivery::default()).await.unwrap();
    let mut refused = None;
    for _ in 0..4 {
        refused = redeliver(&stage, &source, &event, Redelivery::default()).await.err().or(refused);
    }

    assert_eq!(first.listeners.len(), 2);
    assert!(matches!(refused, Some(Error::Full(_))), "{refused:?}");
}
