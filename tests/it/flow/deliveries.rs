//! Events at webhooks: signed, tried again, given up, replayed.

use std::time::{Duration, Instant};

use rig::receiver::Answer;
use serde_json::json;

use super::{EMIT_BODY, World, on_both_stores, text};

on_both_stores! {
    an_event_is_delivered_signed_and_in_order,
    a_receiver_that_asks_for_patience_gets_it,
    a_receiver_that_is_gone_gets_nothing_more_until_a_replay_succeeds,
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
