//! Every bound of the control plane, at the bound and one beyond it.

use domain::ids::ListenerId;
use domain::subscriptions::EventName;
use serde_json::json;

use super::{code, deploy, object, world};
use crate::fake::{World, component};
use crate::manage::components::{self, CodeRequest};
use crate::manage::keys::{self, KeyRequest};
use crate::manage::sources::{self, CreateSource};
use crate::manage::users::{self, NewUser};
use crate::manage::webhooks::{self, NewWebhook};
use crate::manage::{accounts, apps, subscriptions};
use crate::{Error, Secret};

fn webhook(name: usize) -> NewWebhook {
    NewWebhook { url: "https://example.com".into(), name: Some("n".repeat(name)), description: None }
}

#[tokio::test]
async fn texts_of_webhooks_have_1024_bytes_at_most() {
    let (world, caller) = world().await;

    webhooks::create(&caller, &world.platform, webhook(1024)).await.unwrap();

    let error = webhooks::create(&caller, &world.platform, webhook(1025)).await.unwrap_err();
    assert!(matches!(error, Error::Parameter { name: "name", .. }));
}

#[tokio::test]
async fn an_account_has_at_most_so_many_webhooks_and_connected_accounts() {
    let world = World::new(|config| {
        config.webhooks_per_account = 1;
        config.connected_accounts_per_account = 1;
    });
    let admin = world.admin().await;
    let app = apps::NewApp {
        name_slug: "slack".into(),
        name: None,
        auth_type: crate::records::AuthType::Keys,
        provider: None,
    };
    apps::put(&admin, &world.platform, app).await.unwrap();
    let account =
        || accounts::NewAccount { app: "slack".into(), name: None, credentials: Secret::new(object(json!({}))) };

    webhooks::create(&admin, &world.platform, webhook(1)).await.unwrap();
    accounts::create(&admin, &world.platform, account()).await.unwrap();

    let webhook = webhooks::create(&admin, &world.platform, webhook(1)).await;
    let account = accounts::create(&admin, &world.platform, account()).await;
    assert!(matches!(webhook, Err(Error::TooMany { limit: 1, .. })));
    assert!(matches!(account, Err(Error::TooMany { limit: 1, .. })));
}

#[tokio::test]
async fn an_account_has_at_most_twenty_keys() {
    let (world, caller) = world().await;
    for _ in 1..20 {
        keys::create(&caller, &world.platform, KeyRequest::default()).await.unwrap();
    }

    let error = keys::create(&caller, &world.platform, KeyRequest::default()).await.unwrap_err();

    assert!(matches!(error, Error::TooMany { limit: 20, .. }));
}

#[tokio::test]
async fn an_account_has_at_most_a_hundred_auto_subscriptions() {
    let (world, caller) = world().await;
    let listener = webhooks::create(&caller, &world.platform, webhook(1)).await.unwrap().webhook.id;
    let listener = ListenerId::parse(listener.as_str()).unwrap();
    let subscribe = async |number: usize| {
        let name = EventName::parse(&format!("channel-{number}")).unwrap();
        subscriptions::create_auto(&caller, &world.platform, listener.clone(), name).await
    };

    for number in 0..100 {
        subscribe(number).await.unwrap();
    }

    assert!(matches!(subscribe(100).await, Err(Error::TooMany { limit: 100, .. })));
    subscribe(99).await.unwrap();
}

#[tokio::test]
async fn a_name_of_a_source_has_256_bytes_at_most() {
    let (world, caller) = world().await;
    let named = |length: usize| CreateSource {
        component: code(&component("s", json!({}))),
        name: Some("n".repeat(length)),
        ..CreateSource::default()
    };

    sources::create(&caller, &world.platform, named(256)).await.unwrap();

    let error = sources::create(&caller, &world.platform, named(257)).await.unwrap_err();
    assert!(matches!(error, Error::Parameter { name: "name", .. }));
}

#[tokio::test]
async fn names_in_a_component_have_256_bytes_at_most() {
    let (world, caller) = world().await;
    let name = |length: usize| "n".repeat(length);

    deploy(&world, &caller, &component(&name(256), json!({"key": name(256)})), json!({})).await.unwrap();

    let long_prop = component("s", json!({"props": {name(257): {"type": "string", "optional": true}}}));
    for wrong in [component(&name(257), json!({})), component("s", json!({"key": name(257)})), long_prop] {
        let error = deploy(&world, &caller, &wrong, json!({})).await.unwrap_err();
        assert!(matches!(error, Error::Component(_)), "{error}");
    }
}

#[tokio::test]
async fn a_username_has_128_bytes_at_most() {
    let (world, admin) = world().await;
    let quotas = world.platform.config.default_quotas;
    let create = async |length: usize| {
        let email = format!("{length}@example.com");
        let new = NewUser { username: "u".repeat(length), email, role: domain::users::Role::Member, quotas };
        users::create(&admin, &world.platform, new).await
    };

    create(128).await.unwrap();

    assert!(matches!(create(129).await, Err(Error::Parameter { name: "username", .. })));
}

#[tokio::test]
async fn a_component_of_a_url_has_fifty_files_beside_it_at_most() {
    for (count, fits) in [(50, true), (51, false)] {
        let (world, caller) = world().await;
        let requires: Vec<String> = (0..count).map(|number| format!("'./{number}.js'")).collect();
        let text = component("far", json!({"description": requires.join(" ")}));
        world.outbound.serve("https://example.com/far.js", &text);
        for number in 0..count {
            world.outbound.serve(&format!("https://example.com/{number}.js"), "1");
        }

        let url = Some("https://example.com/far.js".to_owned());
        let saved =
            components::create(&caller, &world.platform, CodeRequest { component_url: url, ..Default::default() });

        assert_eq!(saved.await.is_ok(), fits, "{count}");
    }
}

#[tokio::test]
async fn hundreds_of_sources_of_one_name_are_numbered_without_a_gap() {
    let (world, caller) = world().await;
    let mut slugs = std::collections::HashSet::new();

    for _ in 0..200 {
        let source = deploy(&world, &caller, &component("same", json!({})), json!({})).await.unwrap();
        slugs.insert(source.slug);
    }

    assert_eq!(slugs.len(), 200);
    assert!(slugs.contains("same") && slugs.contains("same-2") && slugs.contains("same-200"));
}

#[tokio::test]
async fn an_account_has_at_most_so_many_components_and_another_is_untouched() {
    let world = World::new(|config| config.shares.components = 2);
    let admin = world.admin().await;
    let other = world.user(&admin, "other").await;
    let save =
        async |caller, name: &str| components::create(caller, &world.platform, code(&component(name, json!({})))).await;

    save(&admin, "one").await.unwrap();
    deploy(&world, &admin, &component("two", json!({})), json!({})).await.unwrap();

    assert!(matches!(save(&admin, "three").await, Err(Error::TooMany { limit: 2, .. })));
    let deployed = deploy(&world, &admin, &component("three", json!({})), json!({})).await;
    assert!(matches!(deployed, Err(Error::TooMany { limit: 2, .. })));
    save(&other, "one").await.unwrap();
}
