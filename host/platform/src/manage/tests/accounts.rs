//! Tests of accounts.

use serde_json::json;

use super::{code, deploy, object, world};
use crate::fake::{World, component, returned};
use crate::manage::accounts::{self, AccountView, NewAccount};
use crate::manage::apps::{self, NewApp};
use crate::manage::workflows;
use crate::manage::{components, sources};
use crate::records::{Account, AuthType};
use crate::{Caller, Error, Secret};

async fn connect(world: &World, admin: &Caller, caller: &Caller, app: &str) -> Account {
    let new = NewApp { name_slug: app.to_owned(), name: None, auth_type: AuthType::Keys, provider: None };
    apps::put(admin, &world.platform, new).await.unwrap();
    let credentials = Secret::new(object(json!({"token": "t0ken"})));
    let new = NewAccount { app: app.to_owned(), name: None, credentials };
    accounts::create(caller, &world.platform, new).await.unwrap()
}

fn with_app(app: &str) -> String {
    component("uses", json!({"props": {"slack": {"type": "app", "app": app}}}))
}

#[tokio::test]
async fn credentials_are_sealed_and_never_shown_and_a_component_sees_them() {
    let (world, admin) = world().await;
    let account = connect(&world, &admin, &admin, "slack").await;
    let stored = serde_json::to_string(&account).unwrap();
    let props = json!({"slack": {"authProvisionId": account.id}});
    let source = deploy(&world, &admin, &with_app("slack"), props).await.unwrap();
    world.sandbox.script_async("uses", |_, services| async move {
        assert_eq!(services.credentials("slack").as_deref(), Some(r#"{"token":"t0ken"}"#));
        assert_eq!(services.credentials("other"), None);
        returned(&json!(null))
    });

    let run = sources::run(&admin, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    assert!(run.ok);
    assert!(!stored.contains("t0ken"));
    assert_eq!(json!(AccountView::from(account)).as_object().unwrap().len(), 6);
}

#[tokio::test]
async fn an_account_in_use_is_deleted_only_by_force_and_it_is_said_what_uses_it() {
    let (world, admin) = world().await;
    let account = connect(&world, &admin, &admin, "slack").await;
    let props = json!({"slack": {"authProvisionId": account.id}});
    let source = deploy(&world, &admin, &with_app("slack"), props.clone()).await.unwrap();
    let action = component("post", json!({"type": "action", "props": {"slack": {"type": "app", "app": "slack"}}}));
    let action = components::create(&admin, &world.platform, code(&action)).await.unwrap();
    let steps = json!([{"namespace": "tell", "component_id": action.id, "props": props}]);
    let workflow = json!({"settings": {"name": "flow"}, "steps": steps});
    let workflow = workflows::create(&admin, &world.platform, workflow).await.unwrap();
    let other = connect(&world, &admin, &admin, "slack").await;

    let delete = async |id: &str, is_forced| accounts::delete(&admin, &world.platform, id, is_forced).await;
    let refused = delete(account.id.as_str(), false).await.unwrap_err();

    let users = format!("uses ({}), step tell of workflow flow ({})", source.id, workflow.id);
    assert_eq!(refused.to_string(), format!("account `{}` is used by {users}", account.id));
    accounts::find(&admin, &world.platform, account.id.as_str()).await.unwrap();
    delete(other.id.as_str(), false).await.unwrap();
    delete(account.id.as_str(), true).await.unwrap();
    assert!(matches!(delete(account.id.as_str(), true).await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_run_whose_account_is_gone_fails_before_it_begins_and_says_what_to_do() {
    let (world, admin) = world().await;
    let account = connect(&world, &admin, &admin, "slack").await;
    let props = json!({"slack": {"authProvisionId": account.id}});
    let source = deploy(&world, &admin, &with_app("slack"), props).await.unwrap();

    accounts::delete(&admin, &world.platform, account.id.as_str(), true).await.unwrap();
    let run = sources::run(&admin, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    let error = run.error.unwrap();
    assert_eq!(error["code"], "account_not_found");
    let id = &account.id;
    let said = format!("the account `{id}` of the prop `slack` was deleted: connect another one and set `slack` to it");
    assert_eq!(error["message"], said);
    assert!(run.logs.iter().any(|line| line.message.contains(&said)), "{:?}", run.logs);
    assert!(world.sandbox.calls().is_empty());
}

#[tokio::test]
async fn an_account_of_another_user_or_of_another_app_does_not_fit() {
    let (world, admin) = world().await;
    let other = world.user(&admin, "other").await;
    let account = connect(&world, &admin, &admin, "slack").await;
    let props = json!({"slack": {"authProvisionId": account.id}});

    let foreign = deploy(&world, &other, &with_app("slack"), props.clone()).await.unwrap_err();
    let wrong_app = deploy(&world, &admin, &with_app("github"), props).await.unwrap_err();

    assert!(foreign.to_string().contains("there is no account"), "{foreign}");
    assert!(wrong_app.to_string().contains("needs one of github"), "{wrong_app}");
}

#[tokio::test]
async fn credentials_are_strings_and_bounded() {
    let (world, admin) = world().await;
    connect(&world, &admin, &admin, "slack").await;
    let create = async |credentials: serde_json::Value| {
        let new = NewAccount { app: "slack".into(), name: None, credentials: Secret::new(object(credentials)) };
        accounts::create(&admin, &world.platform, new).await
    };
    // {"k":"…"} is eight bytes around the value.
    let of_size = |size: usize| json!({"k": "x".repeat(size - 8)});

    assert!(matches!(create(json!({"k": 1})).await, Err(Error::Parameter { name: "credentials", .. })));
    create(of_size(64 << 10)).await.unwrap();
    assert!(matches!(create(of_size((64 << 10) + 1)).await, Err(Error::Parameter { .. })));
}

#[tokio::test]
async fn an_app_that_is_not_registered_cannot_be_connected() {
    let (world, admin) = world().await;
    let new = NewAccount { app: "unknown".into(), name: None, credentials: Secret::new(object(json!({}))) };

    let error = accounts::create(&admin, &world.platform, new).await.unwrap_err();

    assert!(matches!(error, Error::NotFound { .. }));
}
