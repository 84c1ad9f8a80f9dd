//! Tests of events of apps.

use serde_json::{Value, json};
use store::{Page, Reads};

use super::{deploy, object, world};
use crate::fake::{World, component};
use crate::manage::{accounts, app_events, apps, sources};
use crate::records::{AuthType, Source};
use crate::{Caller, Error, ParameterError, Secret};

async fn connect(world: &World, caller: &Caller, app: &str) -> Value {
    let new = apps::NewApp { name_slug: app.into(), name: None, auth_type: AuthType::Keys, provider: None };
    apps::put(caller, &world.platform, new).await.unwrap();
    let credentials = Secret::new(object(json!({"token": "t"})));
    let new = accounts::NewAccount { app: app.into(), name: None, credentials };
    let account = accounts::create(caller, &world.platform, new).await.unwrap();
    json!({"authProvisionId": account.id})
}

async fn listener(world: &World, caller: &Caller, account: &Value, hook: Value) -> Source {
    let props = json!({"slack": {"type": "app", "app": "slack"}, "hook": hook});
    deploy(world, caller, &component("hears", json!({"props": props})), json!({"slack": account})).await.unwrap()
}

async fn accepted(world: &World, caller: &Caller) -> u64 {
    world.store.records(&caller.tenant, "acceptance", Page::newest(1)).await.unwrap().total
}

#[tokio::test]
async fn an_event_of_an_app_is_accepted_for_the_sources_that_listen_to_it() {
    let (world, caller) = world().await;
    let account = connect(&world, &caller, "slack").await;
    connect(&world, &caller, "github").await;
    let of_any = listener(&world, &caller, &account, json!("$.interface.apphook")).await;
    let named = json!({"type": "$.interface.apphook", "appProp": "slack", "eventNames": ["message"]});
    listener(&world, &caller, &account, named).await;
    let elsewhere = json!({"type": "$.interface.apphook", "appProp": "other"});
    listener(&world, &caller, &account, elsewhere).await;
    let publish = async |app: &str, name: Option<&str>| {
        app_events::publish(&caller, &world.platform, app, name, &json!({"text": "hi"})).await.unwrap()
    };

    assert_eq!(publish("slack", None).await, 2);
    assert_eq!(publish("slack", Some("message")).await, 2);
    assert_eq!(publish("slack", Some("reaction")).await, 1);
    assert_eq!(publish("github", None).await, 0);
    assert_eq!(accepted(&world, &caller).await, 5, "each is durable");
    let off = sources::UpdateSource { active: Some(false), ..Default::default() };
    sources::update(&caller, &world.platform, of_any.id.as_str(), off).await.unwrap();
    assert_eq!(publish("slack", Some("reaction")).await, 0);
}

#[tokio::test]
async fn an_event_of_an_app_is_bounded_and_the_app_must_exist() {
    let (world, caller) = world().await;
    connect(&world, &caller, "slack").await;
    let limit = world.platform.config.limits.event_bytes;
    let publish = async |app: &str, size: usize| {
        let event = json!("x".repeat(size - 2));
        app_events::publish(&caller, &world.platform, app, None, &event).await
    };

    assert!(publish("slack", limit).await.is_ok());
    let too_long = publish("slack", limit + 1).await;
    assert!(matches!(too_long, Err(Error::Parameter { source: ParameterError::TooLong { .. }, .. })));
    assert!(matches!(publish("unheard_of", 10).await, Err(Error::NotFound { .. })));
}
