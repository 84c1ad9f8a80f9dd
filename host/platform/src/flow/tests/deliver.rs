//! Tests of deliver.

use domain::deliveries::DeliveryState;
use domain::paging::{Limit, PageQuery};
use domain::webhooks::SigningSecret;
use serde_json::json;

use super::Stage;
use crate::Error;
use crate::fake::{emit, emit_with, returned, threw};
use crate::manage::events::EventQuery;
use crate::manage::webhooks::{self, UpdateWebhook};
use crate::manage::{dead_letters, deliveries};
use crate::ports::{LogLine, Outcome};
use crate::records::Source;

const HOOK: &str = "https://example.com/hook";
const DEAD: &str = "https://dead.example.com/hook";

fn everything() -> PageQuery {
    PageQuery { limit: Limit::default(), after: None, before: None }
}

#[tokio::test]
async fn an_event_is_posted_signed_with_its_id() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(HOOK).await;

    stage.post(&source, json!({"n": 1})).await.unwrap();
    stage.work().await;

    let [posting] = stage.world.outbound.posted().try_into().unwrap();
    let header = |name: &str| posting.headers.iter().find(|(header, _)| header == name).unwrap().1.clone();
    let secret = SigningSecret::parse(webhook.signing_secret.expose()).unwrap();
    let seconds = header("webhook-timestamp").parse().unwrap();
    assert_eq!(posting.body, r#"{"n":1}"#);
    assert_eq!(header("webhook-id").len(), 27);
    assert_eq!(header("webhook-signature"), secret.sign(&header("webhook-id"), seconds, &posting.body));
    assert_eq!((header("x-emitter-id"), header("x-event-name")), (source.id.to_string(), "default".into()));
}

#[tokio::test]
async fn during_the_overlap_of_a_rotation_both_secrets_sign() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let first = stage.webhook(HOOK).await;
    let id = first.webhook.id.as_str();
    let rotate = async |overlap| {
        let platform = &stage.world.platform;
        webhooks::rotate_secret(&stage.caller, platform, id, overlap).await.unwrap().signing_secret
    };
    // The signatures of the next delivery, and those that the secrets would give.
    let check = async |secrets: &[&crate::Secret<String>]| {
        stage.post(&source, json!({"n": 1})).await.unwrap();
        stage.work().await;
        let posting = stage.world.outbound.posted().pop().unwrap();
        let header = |name: &str| posting.headers.iter().find(|(header, _)| header == name).unwrap().1.clone();
        let (message, seconds) = (header("webhook-id"), header("webhook-timestamp").parse().unwrap());
        let sign = |secret: &&crate::Secret<String>| {
            SigningSecret::parse(secret.expose()).unwrap().sign(&message, seconds, &posting.body)
        };
        assert_eq!(header("webhook-signature"), secrets.iter().map(sign).collect::<Vec<_>>().join(" "));
    };

    let second = rotate(60).await;
    check(&[&second, &first.signing_secret]).await;
    stage.world.clock.advance(59_000);
    check(&[&second, &first.signing_secret]).await;
    stage.world.clock.advance(1000);
    check(&[&second]).await;

    let third = rotate(60).await;
    let fourth = rotate(60).await;
    check(&[&fourth, &third]).await;
    let last = rotate(0).await;
    check(&[&last]).await;
    let too_long = webhooks::rotate_secret(&stage.caller, &stage.world.platform, id, 2_592_001).await;
    assert!(matches!(too_long, Err(Error::Parameter { name: "overlap_seconds", .. })));
}

/// The source of so many events of one run, delivered to a webhook.
async fn emit_many(stage: &Stage, count: usize) -> Source {
    stage.world.sandbox.script("many", move |_| Outcome {
        emits: (0..count).map(|number| emit(&json!(number))).collect(),
        ..returned(&json!(null))
    });
    let source = stage.endpoint("many", json!({})).await;
    stage.webhook(HOOK).await;
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    source
}

#[tokio::test]
async fn events_of_one_emitter_arrive_in_their_order() {
    let stage = Stage::new().await;
    emit_many(&stage, 50).await;

    let bodies: Vec<_> = stage.world.outbound.posted().iter().map(|posting| posting.body.clone()).collect();
    assert_eq!(bodies, (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn each_event_is_delivered_also_when_the_stream_keeps_fewer() {
    let stage = Stage::new().await;
    let source = emit_many(&stage, 150).await;

    assert_eq!(stage.posted().len(), 150);
    assert_eq!(stage.stream(&source, "default").await.len(), 100);
}

#[tokio::test]
async fn an_event_with_a_delivery_time_waits_for_it_and_delays_no_other() {
    let stage = Stage::new().await;
    let at_ms = stage.now_ms() + 60_000;
    stage.world.sandbox.script("later", move |_| Outcome {
        emits: vec![emit_with(&json!("later"), json!({"delivery_ts": at_ms})), emit(&json!("now"))],
        ..returned(&json!(null))
    });
    let source = stage.endpoint("later", json!({})).await;
    stage.webhook(HOOK).await;
    stage.post(&source, json!({})).await.unwrap();

    stage.work().await;
    let at_once = stage.posted().len();
    stage.world.clock.advance(60_000);
    stage.work().await;

    assert_eq!((at_once, stage.posted().len()), (1, 2));
}

#[tokio::test]
async fn errors_and_log_lines_reach_those_who_subscribed_to_them() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("bad", |_| Outcome {
        logs: vec![LogLine { message: "said".into(), ..crate::fake::log("said") }],
        ..threw("no")
    });
    let source = stage.endpoint("bad", json!({})).await;
    let webhook = stage.webhook(HOOK).await.webhook.id.to_string();
    stage.subscribe("dc_*", &webhook, "$errors").await;
    stage.subscribe(source.id.as_str(), &webhook, "$logs").await;

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    let named =
        |posting: &crate::ports::Posting| posting.headers.iter().find(|(n, _)| n == "x-event-name").unwrap().1.clone();
    let mut names: Vec<_> = stage.world.outbound.posted().iter().map(named).collect();
    names.sort();
    assert_eq!(names, ["$errors", "$logs", "$logs"]);
}

#[tokio::test]
async fn a_failing_webhook_is_tried_eight_times_and_then_among_the_dead_letters_until_replayed() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.webhook(DEAD).await;
    stage.world.outbound.answer(DEAD, 500);
    stage.post(&source, json!({"n": 1})).await.unwrap();

    for _ in 0..40 {
        stage.work().await;
        stage.world.clock.advance(3600 * 1000);
    }
    let tried = stage.posted().len();
    let letters = dead_letters::list(&stage.caller, &stage.world.platform, &everything()).await.unwrap().items;
    stage.world.outbound.answer(DEAD, 200);
    dead_letters::replay(&stage.caller, &stage.world.platform, &letters[0].id).await.unwrap();
    stage.work().await;

    assert_eq!((tried, letters.len(), letters[0].attempts), (8, 1, 8));
    assert_eq!(letters[0].reason, "the receiver answered 500");
    assert_eq!(stage.posted().len(), 9);
    let again = dead_letters::replay(&stage.caller, &stage.world.platform, &letters[0].id).await;
    assert!(matches!(again, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_receiver_that_is_gone_switches_its_webhook_off() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(DEAD).await.webhook;
    stage.world.outbound.answer(DEAD, 410);

    stage.post(&source, json!(1)).await.unwrap();
    stage.work().await;
    stage.post(&source, json!(2)).await.unwrap();
    stage.work().await;

    let webhook = webhooks::find(&stage.caller, &stage.world.platform, webhook.id.as_str()).await.unwrap();
    assert!(!webhook.is_active);
    assert_eq!(webhook.inactive_reason.as_deref(), Some("the receiver answered 410"));
    assert_eq!(stage.posted().len(), 1);
}

#[tokio::test]
async fn what_waited_for_a_webhook_that_was_switched_off_is_kept_and_what_comes_later_is_not() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.webhook(DEAD).await;
    stage.world.outbound.answer(DEAD, 410);
    for number in 0..4 {
        stage.post(&source, json!(number)).await.unwrap();
    }
    stage.work().await;
    stage.world.clock.advance(2_000);
    stage.post(&source, json!(4)).await.unwrap();
    stage.work().await;

    let letters = dead_letters::list(&stage.caller, &stage.world.platform, &everything()).await.unwrap().items;
    stage.world.outbound.answer(DEAD, 200);
    for letter in &letters {
        dead_letters::replay(&stage.caller, &stage.world.platform, &letter.id).await.unwrap();
    }
    stage.work().await;

    let refused = "the receiver answered 410";
    let waited = format!("the webhook is switched off: {refused}");
    let told = letters.iter().filter(|letter| letter.reason == refused || letter.reason == waited).count();
    assert_eq!((letters.len(), told), (4, 4));
    // Several may have been posted before the first answer was there.
    assert!(stage.posted().len() > letters.len(), "each is delivered in the end");
}

#[tokio::test]
async fn a_webhook_that_was_switched_off_is_switched_on_by_its_user() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(DEAD).await.webhook;
    stage.world.outbound.answer(DEAD, 410);
    stage.post(&source, json!(1)).await.unwrap();
    stage.work().await;

    stage.world.outbound.answer(DEAD, 200);
    let change = UpdateWebhook { active: Some(true), ..UpdateWebhook::default() };
    let webhook = webhooks::update(&stage.caller, &stage.world.platform, webhook.id.as_str(), change).await.unwrap();
    stage.post(&source, json!(2)).await.unwrap();
    stage.work().await;

    assert_eq!((webhook.is_active, webhook.inactive_reason), (true, None));
    assert_eq!(stage.posted().len(), 2);
}

#[tokio::test]
async fn a_replay_that_succeeds_switches_its_webhook_on_again() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(DEAD).await.webhook;
    let is_active =
        async || webhooks::find(&stage.caller, &stage.world.platform, webhook.id.as_str()).await.unwrap().is_active;
    stage.world.outbound.answer(DEAD, 410);
    stage.post(&source, json!(1)).await.unwrap();
    stage.work().await;

    for (status, expected) in [(410, false), (200, true)] {
        let letters = dead_letters::list(&stage.caller, &stage.world.platform, &everything()).await.unwrap().items;
        stage.world.outbound.answer(DEAD, status);
        dead_letters::replay(&stage.caller, &stage.world.platform, &letters[0].id).await.unwrap();
        stage.work().await;
        assert_eq!((letters.len(), is_active().await), (1, expected));
    }
    stage.post(&source, json!(2)).await.unwrap();
    stage.work().await;

    assert_eq!(stage.posted().len(), 4);
}

#[tokio::test]
async fn a_dead_endpoint_delays_no_other() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.webhook(DEAD).await;
    stage.webhook(HOOK).await;
    stage.world.outbound.answer(DEAD, 503);

    for number in 0..20 {
        stage.post(&source, json!(number)).await.unwrap();
    }
    stage.work().await;

    let posted = stage.posted();
    assert_eq!(posted.iter().filter(|url| *url == HOOK).count(), 20);
    // The others to the dead one wait for its pause without having used up an attempt.
    assert_eq!(posted.iter().filter(|url| *url == DEAD).count(), 1);
}

#[tokio::test]
async fn dead_letters_have_a_bound_and_the_oldest_goes_first() {
    let config = crate::flow::Config { dead_letters_kept: 2, ..crate::flow::Config::default() };
    let stage = Stage::with(crate::fake::World::default(), config).await;
    let source = stage.endpoint("a", json!({})).await;

    for number in 0..3 {
        let webhook = stage.webhook(DEAD).await.webhook;
        stage.world.outbound.answer(DEAD, 410);
        stage.post(&source, json!(number)).await.unwrap();
        stage.work().await;
        webhooks::delete(&stage.caller, &stage.world.platform, webhook.id.as_str()).await.unwrap();
    }

    let letters = dead_letters::list(&stage.caller, &stage.world.platform, &everything()).await.unwrap().items;
    let events: Vec<_> = letters.iter().map(|letter| letter.event["event"].clone()).collect();
    assert_eq!(events, [json!(2), json!(1)]);
}

#[tokio::test]
async fn attempts_are_seen_while_a_webhook_fails() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(HOOK).await.webhook;
    let attempts = async || {
        let query = EventQuery::default();
        let id = webhook.id.as_str();
        let page = deliveries::of_webhook(&stage.caller, &stage.world.platform, id, &query).await.unwrap();
        page.items
            .into_iter()
            .map(|view| (view.attempt.state, view.attempt.status, view.attempt.attempt))
            .collect::<Vec<_>>()
    };

    stage.world.outbound.answer(HOOK, 500);
    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    assert_eq!(attempts().await, [(DeliveryState::Failing, Some(500), 1)]);

    stage.world.outbound.answer(HOOK, 200);
    stage.world.clock.advance(60_000);
    stage.work().await;
    assert_eq!(attempts().await, [(DeliveryState::Delivered, Some(200), 2), (DeliveryState::Failing, Some(500), 1)],);
    let ada = stage.world.user(&stage.caller, "ada").await;
    let foreign =
        deliveries::of_webhook(&ada, &stage.world.platform, webhook.id.as_str(), &EventQuery::default()).await;
    assert!(matches!(foreign, Err(Error::NotFound { .. })));
}
