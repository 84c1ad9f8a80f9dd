//! Tests of webhooks: what is kept of attempts, pauses, health, and the report of an outage.

use domain::deliveries::DeliveryState;
use domain::paging::Limit;
use domain::webhooks::SigningSecret;
use serde_json::json;

use super::Stage;
use crate::fake::{emit, returned};
use crate::manage::deliveries::{self, AttemptView};
use crate::manage::events::EventQuery;
use crate::manage::webhooks;
use crate::ports::Outcome;

const HOOK: &str = "https://example.com/hook";
const OTHER: &str = "https://other.example.com/hook";
const MINUTE_MS: u64 = 60_000;

async fn attempts(stage: &Stage, id: &str, query: &EventQuery) -> (usize, Vec<AttemptView>) {
    let page = deliveries::of_webhook(&stage.caller, &stage.world.platform, id, query).await.unwrap();
    (page.info.total_count, page.items)
}

fn at_most(limit: u32) -> EventQuery {
    EventQuery { limit: Limit::parse(Some(&json!(limit))).unwrap(), ..EventQuery::default() }
}

#[tokio::test]
async fn of_the_attempts_at_a_webhook_the_last_200_are_kept() {
    let stage = Stage::new().await;
    stage.world.sandbox.script("many", |_| Outcome {
        emits: (0..203).map(|number| emit(&json!(number))).collect(),
        ..returned(&json!(null))
    });
    let source = stage.endpoint("many", json!({})).await;
    let webhook = stage.webhook(HOOK).await.webhook.id.to_string();
    stage.world.outbound.answer_text(HOOK, &"x".repeat(5000));

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;

    let bodies: Vec<_> = stage.world.outbound.posted().iter().map(|posting| posting.headers[1].1.clone()).collect();
    let (total, first) = attempts(&stage, &webhook, &at_most(100)).await;
    let after = EventQuery { after: Some(first[99].id.clone()), ..at_most(100) };
    let (_, second) = attempts(&stage, &webhook, &after).await;
    let after = EventQuery { after: Some(second[99].id.clone()), ..at_most(100) };
    assert_eq!((bodies.len(), total, first.len(), second.len()), (203, 200, 100, 100));
    assert!(attempts(&stage, &webhook, &after).await.1.is_empty());
    assert_eq!(first[0].attempt.emit_id, bodies[202]);
    assert_eq!(second[99].attempt.emit_id, bodies[3], "the oldest three are gone");
    assert_eq!(first[0].attempt.excerpt.as_deref(), Some("x".repeat(512).as_str()));
}

#[tokio::test]
async fn deliveries_to_a_paused_webhook_wait_in_their_order_also_across_a_restart() {
    let mut stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(HOOK).await.webhook.id.to_string();
    let platform = stage.world.platform.clone();
    let caller = stage.caller.clone();
    let pause = async |is_paused| webhooks::set_paused(&caller, &platform, &webhook, is_paused).await.unwrap();

    pause(true).await;
    for number in 0..3 {
        stage.post(&source, json!(number)).await.unwrap();
    }
    stage.work().await;
    stage.world.clock.advance(MINUTE_MS);
    stage.restart();
    stage.work().await;
    let waiting = deliveries::pending(&caller, &platform, Some(&webhook)).await.unwrap();
    let posted = stage.posted().len();
    let first_pause = pause(true).await.paused_at_ms;
    pause(false).await;
    // The longest that what waits looks away.
    stage.world.clock.advance(10_000);
    stage.work().await;

    assert_eq!((posted, waiting.len()), (0, 1));
    assert_eq!((waiting[0].state, waiting[0].attempts, waiting[0].behind), (DeliveryState::Paused, 0, 2));
    assert_eq!(first_pause, Some(stage.now_ms() - MINUTE_MS - 10_000), "pausing again changes nothing");
    let bodies: Vec<_> = stage.world.outbound.posted().iter().map(|posting| posting.body.clone()).collect();
    assert_eq!(bodies, ["0", "1", "2"]);
    assert!(deliveries::pending(&caller, &platform, None).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_webhook_that_fails_for_an_hour_is_reported_once_for_each_outage() {
    let mut stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let failing = stage.webhook(HOOK).await.webhook.id.to_string();
    let told = stage.webhook(OTHER).await.webhook.id.to_string();
    for listener in [&failing, &told] {
        stage.subscribe("dc_*", listener, "$errors").await;
    }
    stage.world.outbound.answer(HOOK, 500);
    let reports = async |stage: &Stage| stage.stream(&source, "$errors").await;

    stage.post(&source, json!(1)).await.unwrap();
    stage.work().await;
    let begun_ms = stage.now_ms();
    stage.world.clock.advance(60 * MINUTE_MS - 1);
    stage.work().await;
    assert!(reports(&stage).await.is_empty());
    stage.restart();
    stage.world.clock.advance(1);
    stage.work().await;
    let first = reports(&stage).await;
    // Attempts go on for more than a day.
    for _ in 0..40 {
        stage.world.clock.advance(60 * MINUTE_MS);
        stage.post(&source, json!(2)).await.unwrap();
        stage.work().await;
    }
    let later = reports(&stage).await;
    let health = webhooks::read(&stage.caller, &stage.world.platform, &failing).await.unwrap().health.unwrap().health;

    assert_eq!((first.len(), later.len()), (1, 1));
    assert_eq!(first[0]["error"]["code"], "webhook_failing");
    assert_eq!(first[0]["original_event"]["webhook_id"], json!(failing));
    assert_eq!((health.failing_since_ms, health.last_success_ms), (Some(begun_ms), None));
    assert_eq!(health.last_failure.unwrap().status, Some(500));
    let to = |url: &str| {
        let is_error = |posting: &crate::ports::Posting| posting.headers.iter().any(|(_, value)| value == "$errors");
        stage.world.outbound.posted().iter().filter(|posting| posting.url == url && is_error(posting)).count()
    };
    assert_eq!((to(OTHER), to(HOOK)), (1, 0), "the webhook that fails is not told that it does");

    // It recovers, and a second outage is a second report.
    stage.world.outbound.answer(HOOK, 200);
    stage.world.clock.advance(24 * 60 * MINUTE_MS);
    stage.work().await;
    stage.world.outbound.answer(HOOK, 503);
    stage.post(&source, json!(3)).await.unwrap();
    stage.work().await;
    stage.world.clock.advance(61 * MINUTE_MS);
    stage.work().await;
    assert_eq!(reports(&stage).await.len(), 2);
}

#[tokio::test]
async fn failures_with_successes_between_them_are_no_outage_and_leave_one_check_in_the_queue() {
    let stage = Stage::new().await;
    let source = stage.endpoint("a", json!({})).await;
    let webhook = stage.webhook(HOOK).await.webhook.id.to_string();

    for minute in 0..180 {
        stage.world.outbound.answer(HOOK, if minute % 2 == 0 { 500 } else { 200 });
        stage.post(&source, json!(minute)).await.unwrap();
        stage.work().await;
        stage.world.clock.advance(MINUTE_MS);
    }
    stage.world.outbound.answer(HOOK, 200);
    stage.world.clock.advance(10 * MINUTE_MS);
    stage.work().await;
    let heads = stage.world.platform.store.heads(&stage.caller.tenant, 0, 1000).await.unwrap();

    assert!(stage.stream(&source, "$errors").await.is_empty());
    assert!(heads.len() <= 1, "{}", heads.len());
    let health = webhooks::read(&stage.caller, &stage.world.platform, &webhook).await.unwrap().health.unwrap();
    assert_eq!((health.health.failing_since_ms, health.pending), (None, 0));
}

#[tokio::test]
async fn a_test_is_signed_listed_and_changes_nothing_else() {
    let stage = Stage::new().await;
    let created = stage.webhook(HOOK).await;
    let id = created.webhook.id.as_str();
    let platform = &stage.world.platform;
    webhooks::set_paused(&stage.caller, platform, id, true).await.unwrap();
    stage.world.outbound.answer(HOOK, 410);
    stage.world.outbound.answer_text(HOOK, "gone");

    let failed = deliveries::test(&stage.caller, platform, id).await.unwrap();
    stage.world.outbound.answer(HOOK, 204);
    let delivered = deliveries::test(&stage.caller, platform, id).await.unwrap();

    let states = [failed.attempt.state, delivered.attempt.state];
    assert_eq!(states, [DeliveryState::GivenUp, DeliveryState::Delivered]);
    assert_eq!((failed.attempt.status, failed.attempt.excerpt.as_deref()), (Some(410), Some("gone")));
    let (total, listed) = attempts(&stage, id, &EventQuery::default()).await;
    assert_eq!((total, &listed[0].id, listed[0].at_ms), (2, &delivered.id, delivered.at_ms));
    let posting = stage.world.outbound.posted().pop().unwrap();
    let header = |name: &str| posting.headers.iter().find(|(header, _)| header == name).unwrap().1.clone();
    let secret = SigningSecret::parse(created.signing_secret.expose()).unwrap();
    let seconds = header("webhook-timestamp").parse().unwrap();
    assert_eq!(header("webhook-signature"), secret.sign(&header("webhook-id"), seconds, &posting.body));
    let read = webhooks::read(&stage.caller, platform, id).await.unwrap();
    assert!(read.active && read.paused_at_ms.is_some());
    let health = read.health.unwrap().health;
    assert_eq!((health.last_success_ms, health.last_failure), (None, None));
}
