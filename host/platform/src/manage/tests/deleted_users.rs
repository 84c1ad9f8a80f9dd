//! Tests of deleting users.

use domain::ids::ListenerId;
use domain::subscriptions::{EmitterPattern, EventName};
use serde_json::json;
use store::{Batch, Directory, Op, Page, Partition, Reads, Store, Work};

use super::{code, deploy, world};
use crate::fake::{World, component, emit_with};
use crate::manage::chores;
use crate::manage::keys::authenticate;
use crate::manage::subscriptions::Wanted;
use crate::manage::users::{self, NewUser};
use crate::manage::webhooks::{self, NewWebhook};
use crate::manage::workflows;
use crate::manage::{accounts, apps, components, data_stores, sessions, sources, subscriptions};
use crate::ports::{Effect, EffectKind, Outcome, Progress};
use crate::records::workflow_run::RunState;
use crate::records::{AuthType, DataStore, Job, User, names, table};
use crate::{Caller, Error, Secret};

/// Every kind of record there is; a new one has to be thought of when an account is deleted.
const KINDS: [&str; 21] = [
    "source",
    "source_history",
    "component",
    "program",
    "package_hold",
    "webhook",
    "account",
    "app_client",
    "connect",
    "subscription",
    "auto_subscription",
    "workflow",
    "workflow_version",
    "workflow_run",
    "data_store",
    "dead_letter",
    "acceptance",
    "dedupe",
    "api_key",
    "session",
    "user",
];

/// One of everything an account can have.
async fn furnish(world: &World, admin: &Caller, caller: &Caller) -> crate::records::Source {
    let platform = &world.platform;
    let app = apps::NewApp { name_slug: "slack".into(), name: None, auth_type: AuthType::Keys, provider: None };
    apps::put(admin, platform, app).await.unwrap();
    let credentials = Secret::new(super::object(json!({"token": "t"})));
    let account = accounts::NewAccount { app: "slack".into(), name: None, credentials };
    accounts::create(caller, platform, account).await.unwrap();
    let props = json!({"timer": {"type": "$.interface.timer", "default": {"intervalSeconds": 60}}});
    let described = component("polls", json!({"props": props, "dedupe": "unique", "key": "polls"}));
    let source = deploy(world, caller, &described, json!({})).await.unwrap();
    let props = Some(super::object(json!({"timer": {"intervalSeconds": 120}})));
    let change = sources::UpdateSource { configured_props: props, ..Default::default() };
    sources::update(caller, platform, source.id.as_str(), change).await.unwrap();
    world
        .sandbox
        .script("polls", |_| Outcome { emits: vec![emit_with(&json!(1), json!({"id": "a"}))], ..Outcome::default() });
    sources::run(caller, platform, source.id.as_str(), json!({})).await.unwrap();
    let mut saved = code(&component("saved", json!({})));
    saved.component_files.insert("/node_modules/package/index.js".to_owned(), "text".to_owned());
    components::create(caller, platform, saved).await.unwrap();
    let new = NewWebhook { url: "https://example.com".into(), ..NewWebhook::default() };
    let webhook = webhooks::create(caller, platform, new).await.unwrap().webhook;
    let listener = ListenerId::parse(webhook.id.as_str()).unwrap();
    let wanted = Wanted {
        emitter: EmitterPattern::parse(source.id.as_str()).unwrap(),
        listener: listener.clone(),
        event_name: EventName::parse("").unwrap(),
    };
    subscriptions::create(caller, platform, wanted).await.unwrap();
    let errors = EventName::parse("$errors").unwrap();
    subscriptions::create_auto(caller, platform, listener, errors).await.unwrap();
    sessions::create(caller, platform).await.unwrap();
    let store = data_stores::create(caller, platform, "orders").await.unwrap();
    data_stores::set(caller, platform, store.id.as_str(), "k", json!(1), Some(60)).await.unwrap();
    source
}

/// A workflow whose step has stored a value; the scope it is in.
async fn furnish_workflow(world: &World, caller: &Caller) -> String {
    let action = code(&component("acts", json!({"type": "action"})));
    let action = components::create(caller, &world.platform, action).await.unwrap();
    let triggers = json!([{"type": "http"}, {"type": "timer", "interval_seconds": 60}]);
    let steps = json!([{"namespace": "acts", "component_id": action.id}, {"namespace": "waits", "code": component("waits", json!({}))}]);
    let document = json!({"settings": {"name": "w"}, "triggers": triggers, "steps": steps});
    let workflow = workflows::create(caller, &world.platform, document).await.unwrap();
    let pause = || {
        serde_json::value::to_raw_value(&json!({"name": "$pause", "value": {"kind": "suspend", "ms": 1000}})).unwrap()
    };
    world.sandbox.script("waits", move |_| Outcome {
        effects: vec![Effect { kind: EffectKind::Export, parameters: pause() }],
        ..Outcome::default()
    });
    let run = workflows::run(caller, &world.platform, workflow.id.as_str(), json!({})).await.unwrap();
    assert_eq!(run.state, RunState::Paused);
    let scope = names::db_of_step(&workflow.id, "acts");
    let value = Op::SetValue { scope: scope.clone(), key: "k".into(), value: "1".into(), cap_bytes: 1000 };
    world.store.commit(Batch::new(&caller.tenant, 1).then(value)).await.unwrap();
    scope
}

pub(super) async fn clear(world: &World, user: &User) {
    let (user, username, email) = (user.id.clone(), user.username.clone(), user.email.clone());
    let job = Job::ForgetUser { user, username, email };
    while chores::perform(&names::operator(), &world.platform, &job).await.unwrap() == Progress::More {}
}

async fn left(world: &World, caller: &Caller) -> Vec<&'static str> {
    let mut left = Vec::new();
    for kind in KINDS {
        if world.store.records(&caller.tenant, kind, Page::newest(1)).await.unwrap().total > 0 {
            left.push(kind);
        }
    }
    left
}

#[tokio::test]
async fn a_deleted_user_is_unknown_at_once_and_leaves_nothing_behind() {
    let (world, admin) = world().await;
    let ada = world.user(&admin, "ada").await;
    let source = furnish(&world, &admin, &ada).await;
    let scope = furnish_workflow(&world, &ada).await;
    assert!(left(&world, &ada).await.len() >= 8, "otherwise this proves nothing");

    let stores = table::list_all::<DataStore>(&*world.store, &ada.tenant).await.unwrap();
    let store = names::data_store(stores[0].record.id.as_str());
    users::delete(&admin, &world.platform, ada.user.id.as_str()).await.unwrap();

    assert!(authenticate(&world.platform, &ada.presented_key).await.is_err());
    clear(&world, &ada.user).await;
    assert_eq!(left(&world, &ada).await, [""; 0]);
    assert_eq!(world.store.values(&ada.tenant, &scope, &["k".to_owned()]).await.unwrap().found, [None]);
    assert_eq!(world.store.values(&ada.tenant, &store, &["k".to_owned()]).await.unwrap().found, [None]);
    assert!(world.store.streams(&ada.tenant, source.id.as_str()).await.unwrap().is_empty());
    assert!(world.store.look_up(&names::endpoint(&source.endpoint_key)).await.unwrap().is_none());
    world.clock.advance(3_600_000);
    let request = store::LeaseRequest { now_ms: world.platform.clock.now_ms(), lease_ms: 1000, max: 10 };
    let ticks = world.store.lease_timers(&Partition::all(world.store.partitions()), request).await.unwrap();
    assert!(ticks.items.is_empty());
}

#[tokio::test]
async fn the_name_of_a_deleted_user_is_free_and_clearing_again_does_not_take_it_from_its_new_owner() {
    let (world, admin) = world().await;
    let ada = world.user(&admin, "ada").await;
    users::delete(&admin, &world.platform, ada.user.id.as_str()).await.unwrap();
    clear(&world, &ada.user).await;

    let second = world.user(&admin, "ada").await;
    clear(&world, &ada.user).await;

    let new = NewUser {
        username: "ada".into(),
        email: "other@example.com".into(),
        role: domain::users::Role::Member,
        quotas: domain::users::Quotas::default(),
    };
    let third = users::create(&admin, &world.platform, new).await;
    assert!(matches!(third, Err(Error::Taken { .. })));
    assert!(authenticate(&world.platform, &second.presented_key).await.is_ok());
}

#[tokio::test]
async fn only_an_admin_deletes_users_and_never_their_own_account() {
    let (world, admin) = world().await;
    let ada = world.user(&admin, "ada").await;

    let by_a_member = users::delete(&ada, &world.platform, admin.user.id.as_str()).await;
    let by_themselves = users::delete(&admin, &world.platform, admin.user.id.as_str()).await;
    let unknown = users::delete(&admin, &world.platform, "u_unknown").await;

    assert!(matches!(by_a_member, Err(Error::NotAdmin)));
    assert!(matches!(by_themselves, Err(Error::OwnRole)));
    assert!(matches!(unknown, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn an_operator_acts_for_a_user_by_name_or_id() {
    let (world, admin) = world().await;
    let ada = world.user(&admin, "ada").await;

    for name in ["ada", "ADA", ada.user.id.as_str()] {
        let found = users::on_behalf_of(&world.platform, name).await.unwrap();
        assert_eq!(found.tenant, ada.tenant);
    }
    assert!(matches!(users::on_behalf_of(&world.platform, "eve").await, Err(Error::NotFound { .. })));
}
