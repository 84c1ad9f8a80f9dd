//! Tests of subscriptions.

use domain::ids::ListenerId;
use domain::subscriptions::{EmitterPattern, EventName};
use serde_json::json;

use super::{deploy, world};
use crate::fake::{World, component};
use crate::manage::subscriptions::{self, Wanted};
use crate::manage::webhooks::{self, NewWebhook};
use crate::{Caller, Error};

fn wanted(emitter: &str, listener: &str, event_name: &str) -> Wanted {
    Wanted {
        emitter: EmitterPattern::parse(emitter).unwrap(),
        listener: ListenerId::parse(listener).unwrap(),
        event_name: EventName::parse(event_name).unwrap(),
    }
}

async fn webhook(world: &World, caller: &Caller) -> String {
    let new = NewWebhook { url: "https://example.com/hook".into(), ..NewWebhook::default() };
    webhooks::create(caller, &world.platform, new).await.unwrap().webhook.id.to_string()
}

#[tokio::test]
async fn subscribing_again_is_no_second_subscription() {
    let (world, caller) = world().await;
    let listener = webhook(&world, &caller).await;

    let first = subscriptions::create(&caller, &world.platform, wanted("dc_*", &listener, "")).await.unwrap();
    let again = subscriptions::create(&caller, &world.platform, wanted("dc_*", &listener, "default")).await.unwrap();

    assert_eq!(first.0.id, again.0.id);
    assert_eq!(subscriptions::list(&caller, &world.platform).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn both_globs_and_the_platforms_streams_can_be_subscribed_to() {
    let (world, caller) = world().await;
    let listener = webhook(&world, &caller).await;

    for (emitter, event_name) in [("dc_*", "$errors"), ("p_*", "default"), ("dc_*", "$logs"), ("dc_*", "channel")] {
        let made =
            subscriptions::create(&caller, &world.platform, wanted(emitter, &listener, event_name)).await.unwrap();
        assert_eq!((made.0.emitter_id.as_str(), made.0.event_name.as_str()), (emitter, event_name));
    }
}

#[tokio::test]
async fn deleting_takes_the_same_three_and_an_unknown_one_is_not_found() {
    let (world, caller) = world().await;
    let listener = webhook(&world, &caller).await;
    subscriptions::create(&caller, &world.platform, wanted("dc_*", &listener, "")).await.unwrap();

    let other = subscriptions::delete(&caller, &world.platform, &wanted("p_*", &listener, "")).await;
    let gone = subscriptions::delete(&caller, &world.platform, &wanted("dc_*", &listener, "")).await;

    assert!(matches!(other, Err(Error::NotFound { .. })));
    gone.unwrap();
    assert!(subscriptions::list(&caller, &world.platform).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn emitters_and_listeners_of_others_are_not_found() {
    let (world, caller) = world().await;
    let other = world.user(&caller, "other").await;
    let (foreign, own) = (webhook(&world, &other).await, webhook(&world, &caller).await);
    let source = deploy(&world, &other, &component("s", json!({})), json!({})).await.unwrap().id.to_string();

    for pair in [("dc_*", foreign.as_str()), (source.as_str(), own.as_str())] {
        let error = subscriptions::create(&caller, &world.platform, wanted(pair.0, pair.1, "")).await.unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{pair:?}");
    }
}

#[tokio::test]
async fn a_source_cannot_listen_to_itself() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("s", json!({})), json!({})).await.unwrap().id.to_string();

    let error = subscriptions::create(&caller, &world.platform, wanted(&source, &source, "")).await.unwrap_err();

    assert!(matches!(error, Error::Parameter { name: "listener_id", .. }));
}

#[tokio::test]
async fn an_auto_subscription_is_for_sources_created_after_it() {
    let (world, caller) = world().await;
    let listener = webhook(&world, &caller).await;
    deploy(&world, &caller, &component("before", json!({})), json!({})).await.unwrap();
    let name = EventName::parse("$errors").unwrap();
    let party = ListenerId::parse(&listener).unwrap();

    let auto = subscriptions::create_auto(&caller, &world.platform, party.clone(), name.clone()).await.unwrap();
    let again = subscriptions::create_auto(&caller, &world.platform, party, name).await.unwrap();
    let after = deploy(&world, &caller, &component("after", json!({})), json!({})).await.unwrap();

    let made = subscriptions::list(&caller, &world.platform).await.unwrap().items;
    assert_eq!(auto.id, again.id);
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].0.emitter_id.as_str(), made[0].0.event_name.as_str()), (after.id.as_str(), "$errors"));
}

#[tokio::test]
async fn an_auto_subscription_needs_an_event_name() {
    let (world, caller) = world().await;
    let party = ListenerId::parse(&webhook(&world, &caller).await).unwrap();

    let error = subscriptions::create_auto(&caller, &world.platform, party, EventName::parse("").unwrap()).await;

    assert!(matches!(error, Err(Error::Parameter { name: "event_name", .. })));
}

#[tokio::test]
async fn deleting_a_webhook_ends_its_subscriptions() {
    let (world, caller) = world().await;
    let listener = webhook(&world, &caller).await;
    subscriptions::create(&caller, &world.platform, wanted("dc_*", &listener, "")).await.unwrap();

    webhooks::delete(&caller, &world.platform, &listener).await.unwrap();

    assert!(subscriptions::list(&caller, &world.platform).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_webhook_url_needs_a_protocol_and_a_hostname() {
    let (world, caller) = world().await;

    for url in ["example.com", "ftp://example.com", "http://", "https:///path", "", "javascript:alert(1)"] {
        let new = NewWebhook { url: url.to_owned(), ..NewWebhook::default() };
        let error = webhooks::create(&caller, &world.platform, new).await.unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "url", .. }), "{url}");
    }
    for url in ["http://example.com", "https://example.com:8080/path?x=1"] {
        let new = NewWebhook { url: url.to_owned(), ..NewWebhook::default() };
        webhooks::create(&caller, &world.platform, new).await.unwrap();
    }
}

#[tokio::test]
async fn an_account_has_at_most_so_many_subscriptions() {
    let world = World::new(|config| config.subscriptions_per_account = 1);
    let caller = world.admin().await;
    let listener = webhook(&world, &caller).await;
    subscriptions::create(&caller, &world.platform, wanted("dc_*", &listener, "")).await.unwrap();

    let again = subscriptions::create(&caller, &world.platform, wanted("dc_*", &listener, "")).await;
    let further = subscriptions::create(&caller, &world.platform, wanted("p_*", &listener, "")).await;

    again.unwrap();
    assert!(matches!(further, Err(Error::TooMany { .. })));
}
