//! Events at webhooks: signed, tried again, given up, replayed, held back; and all of it visible while it happens.

use std::time::{Duration, Instant};

use rig::receiver::Answer;
use rig::wait::until;
use serde_json::{Value, json};

use crate::cli::Developer;

use super::{EMIT_BODY, World, on_every_store, text};

on_every_store! {
    an_event_is_delivered_signed_and_in_order,
    a_receiver_that_asks_for_patience_gets_it,
    a_receiver_that_is_gone_gets_nothing_more_until_a_replay_succeeds,
    a_paused_webhook_holds_what_comes_and_goes_on_in_order_when_resumed,
}

async fn an_event_is_delivered_signed_and_in_order(world: World) {
    let source = world.endpoint("run(event) { for (const n of event.body) this.$emit({n}); }").await;
    let mut webhook = world.webhook(&source, |_| Answer::status(200)).await;

    world.trigger(&source, &json!([1, 2, 3])).await;

    for number in 1..=3 {
        let received = webhook.inbox.next().await;
        assert!(received.is_signed_with(&webhook.secret));
        assert!(!received.is_signed_with("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
        assert_eq!(received.json(), json!({"n": number}));
        let named = (received.header("x-emitter-id"), received.header("x-event-name"));
        assert_eq!(named, (source.id.as_str(), "default"));
    }
    let first = world.client.events(&source.id, "default").await.unwrap().remove(0);
    assert_eq!(text(&first["metadata"]["emit_id"]).len(), 27);
}

async fn a_receiver_that_asks_for_patience_gets_it(world: World) {
    const SECONDS: u64 = 7;
    let source = world.endpoint(EMIT_BODY).await;
    let answer = |times| if times == 0 { Answer::status(503).retry_after(SECONDS) } else { Answer::status(200) };
    let mut webhook = world.webhook(&source, answer).await;

    world.trigger(&source, &json!("again")).await;
    let first = webhook.inbox.next().await;
    let since = Instant::now();
    let second = webhook.inbox.next().await;

    // Without the wish it would have come after five or six seconds.
    assert!(since.elapsed() > Duration::from_secs(SECONDS - 1) + Duration::from_millis(500), "{:?}", since.elapsed());
    assert_eq!(first.header("webhook-id"), second.header("webhook-id"));
    assert_eq!(second.json(), json!("again"));
}

async fn a_receiver_that_is_gone_gets_nothing_more_until_a_replay_succeeds(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let answer = |times| Answer::status(if times == 0 { 410 } else { 200 });
    let mut webhook = world.webhook(&source, answer).await;
    let path = format!("/v1/webhooks/{}", webhook.id);
    let mut marker = world.webhook(&source, |_| Answer::status(200)).await;

    world.trigger(&source, &json!("lost")).await;
    let lost = webhook.inbox.next().await;
    let letters = letters(&world).await;
    assert_eq!(world.client.get(&path).await.unwrap().data()["active"], false);
    world.trigger(&source, &json!("meanwhile")).await;
    for _ in 0..2 {
        marker.inbox.next().await;
    }
    world.client.post(&format!("/v1/dead_letters/{}/replay", letters[0]), &json!({})).await.unwrap().success().unwrap();
    let replayed = webhook.inbox.next().await;

    assert_eq!(letters.len(), 1);
    assert_eq!(replayed.header("webhook-id"), lost.header("webhook-id"));
    assert_eq!(replayed.json(), json!("lost"));
    assert!(is_active_in_the_end(&world, &path).await);
}

async fn a_paused_webhook_holds_what_comes_and_goes_on_in_order_when_resumed(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let mut webhook = world.webhook(&source, |_| Answer::status(200)).await;
    let mut marker = world.webhook(&source, |_| Answer::status(200)).await;
    let command = async |verb: &str| {
        let path = format!("/v1/webhooks/{}/{verb}", webhook.id);
        world.client.post(&path, &json!({})).await.unwrap().data()
    };

    assert!(command("pause").await["paused_at_ms"].is_u64());
    for number in 0..3 {
        world.trigger(&source, &json!(number)).await;
        marker.inbox.next().await;
    }
    let tested = command("test").await;
    let path = format!("/v1/users/me/pending_deliveries?listener_id={}", webhook.id);
    let pending = world.client.get(&path).await.unwrap().data();
    let read = world.client.get(&format!("/v1/webhooks/{}", webhook.id)).await.unwrap().data();

    // Only the test has arrived, because tests do not wait.
    let test = webhook.inbox.next().await;
    assert_eq!((&tested["state"], &tested["emit_id"]), (&json!("delivered"), &json!(test.header("webhook-id"))));
    assert!(test.is_signed_with(&webhook.secret) && test.header("x-event-name") == "$test");
    assert!(webhook.inbox.rest().is_empty());
    assert_eq!((pending.as_array().unwrap().len(), &pending[0]["behind"]), (1, &json!(2)), "{pending}");
    assert_eq!((&pending[0]["state"], &read["health"]["pending"]), (&json!("paused"), &json!(3)));
    assert_eq!(command("resume").await["paused_at_ms"], Value::Null);
    for number in 0..3 {
        assert_eq!(webhook.inbox.next().await.json(), json!(number));
    }
}

/// What the API and the command line say of the first attempt, once it is made.
async fn first_attempt(world: &World, developer: &Developer, webhook: &str) -> (Value, String) {
    let path = format!("/v1/webhooks/{webhook}/deliveries");
    let first =
        until("the first attempt", async || world.client.get(&path).await.unwrap().data().get(0).cloned()).await;
    (first, developer.run(&["deliveries", "--webhook", webhook]))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_receivers_answer_is_seen_while_it_happens() {
    let world = World::with(&["--delivery-timeout-ms", "300"]).await;
    let developer = Developer::logged_in(&world.served);
    let source = world.endpoint(EMIT_BODY).await;
    let broken = world.webhook(&source, |_| Answer::status(500).body("\u{1b}[31mno\nroom")).await;
    let gone = world.webhook(&source, |_| Answer::status(410).body(vec![0xff_u8; 9])).await;
    let silent = world.webhook(&source, |_| Answer::never()).await;
    let large = world.webhook(&source, |_| Answer::status(503).body("x".repeat(1 << 20))).await;

    world.trigger(&source, &json!(1)).await;

    let (attempt, table) = first_attempt(&world, &developer, &broken.id).await;
    assert_eq!((&attempt["state"], &attempt["status"]), (&json!("failing"), &json!(500)));
    assert_eq!(attempt["excerpt"], "[31mno room");
    assert!(table.contains("500 [31mno room"), "{table}");
    let (attempt, table) = first_attempt(&world, &developer, &gone.id).await;
    assert_eq!((&attempt["state"], &attempt["status"]), (&json!("given_up"), &json!(410)));
    assert_eq!(attempt.get("excerpt"), None);
    assert!(table.contains("given_up"), "{table}");
    let (attempt, table) = first_attempt(&world, &developer, &silent.id).await;
    assert_eq!((&attempt["state"], attempt.get("status")), (&json!("failing"), None));
    assert!(attempt["ms"].as_u64().unwrap() >= 300 && table.contains("no answer"), "{attempt} {table}");
    let (attempt, _) = first_attempt(&world, &developer, &large.id).await;
    assert_eq!((&attempt["status"], text(&attempt["excerpt"])), (&json!(503), "x".repeat(512)));

    let pending = developer.json(&["deliveries", "--pending"]);
    let states: Vec<_> = pending.as_array().unwrap().iter().map(|one| (&one["state"], &one["attempts"])).collect();
    assert_eq!(states, [(&json!("failing"), &json!(1)); 3], "{pending}");
    let described = developer.run(&["describe", &broken.id]);
    for part in ["failing", "since", ": 500", "pending"] {
        assert!(described.contains(part), "{described}");
    }
    developer.run(&["webhooks", "pause", &large.id]);
    assert!(developer.run(&["deliveries", "--pending", "--webhook", &large.id]).contains("paused"));
    let (code, said) = developer.fail(&["webhooks", "test", &large.id]);
    assert!(code == 1 && said.contains("503"), "{code}: {said}");
    developer.run(&["webhooks", "resume", &large.id]);
    let resumed = developer.json(&["deliveries", "--pending", "--webhook", &large.id]);
    assert_eq!(resumed[0]["state"], "failing");
}

/// The ids of the dead letters, once there are any.
async fn letters(world: &World) -> Vec<String> {
    for _ in 0..1000 {
        let letters = world.client.list("/v1/users/me/dead_letters").await.unwrap();
        if !letters.is_empty() {
            return letters.iter().map(|letter| text(&letter["id"])).collect();
        }
    }
    Vec::new()
}

/// The answer comes before what it changes is committed.
async fn is_active_in_the_end(world: &World, path: &str) -> bool {
    for _ in 0..1000 {
        if world.client.get(path).await.unwrap().data()["active"] == true {
            return true;
        }
    }
    false
}
