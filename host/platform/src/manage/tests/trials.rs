//! Tests of components that are tried before they are deployed.

use domain::users::{Plan, Quotas};
use serde_json::{Value, json};
use store::Page;

use super::{code, object, world};
use crate::fake::{World, component, emit, emit_with, log, returned, threw};
use crate::manage::runs::{self, RunQuery};
use crate::manage::{components, users};
use crate::ports::{Outcome, Reply, Write};
use crate::{Caller, Error};

async fn saved(world: &World, caller: &Caller, more: Value) -> String {
    let made = components::create_temporary(caller, &world.platform, code(&component("Try", more))).await.unwrap();
    made.id.to_string()
}

async fn try_out(world: &World, caller: &Caller, id: &str, props: Value, event: Value) -> Result<Value, Error> {
    let run = components::try_out(caller, &world.platform, id, &object(props), event).await;
    run.map(|run| json!(run))
}

#[tokio::test]
async fn a_trial_tells_what_a_component_does_and_keeps_nothing_but_its_cost() {
    let (world, caller) = world().await;
    let id = saved(&world, &caller, json!({"props": {"limit": {"type": "integer"}}, "dedupe": "unique"})).await;
    world.sandbox.script_async("Try", |call, services| async move {
        // As the guest does before a request leaves: nothing is flushed.
        let writes = vec![Write { key: "count".into(), value: Some("1".into()) }];
        let writes = services.before_request(writes).await.unwrap();
        assert_eq!(services.db_get("count").await.unwrap(), None, "it begins with an empty db");
        services.reply(Reply { status: 201, headers: Vec::new(), body: "made".into() });
        let twice = |n: u64| emit_with(&json!({"n": n, "body": call["event"]["body"]}), json!({"id": 7}));
        let writes = [writes, vec![Write { key: "gone".into(), value: None }]].concat();
        Outcome { emits: vec![twice(1), twice(2)], logs: vec![log("said")], writes, ..returned(&Value::Null) }
    });
    let store = &world.platform.store;
    let before = store.records(&caller.tenant, "source", Page::newest(10)).await.unwrap();

    let run = try_out(&world, &caller, &id, json!({"limit": 3}), json!({"body": "hello"})).await.unwrap();

    assert_eq!((&run["ok"], &run["error"], &run["emitted_count"]), (&json!(true), &Value::Null, &json!(1)));
    assert_eq!(run["emitted"][0]["event"], json!({"n": 1, "body": "hello"}), "the second has the same id");
    assert_eq!(run["stored"], json!([{"key": "count", "value": 1}, {"key": "gone", "value": null}]));
    assert_eq!((&run["reply"]["status"], &run["logs"][0]["message"]), (&json!(201), &json!("said")));
    let again = try_out(&world, &caller, &id, json!({"limit": 3}), json!({})).await.unwrap();
    assert_eq!(again["emitted_count"], 1, "what the first stored is not there");
    assert!(store.streams(&caller.tenant, &id).await.unwrap().is_empty());
    assert_eq!(store.records(&caller.tenant, "source", Page::newest(10)).await.unwrap().total, before.total);
    let listed = runs::of_all(&caller, &world.platform, &RunQuery::default()).await.unwrap();
    assert!(listed.items.is_empty(), "there is no record of it");
    assert_eq!(users::usage_today(&caller.tenant, &world.platform).await.unwrap().invocations, 2);
}

#[tokio::test]
async fn a_trial_that_fails_tells_why_and_what_it_did_before() {
    let (world, caller) = world().await;
    let id = saved(&world, &caller, json!({})).await;
    world.sandbox.script("Try", |_| Outcome { emits: vec![emit(&json!(1))], logs: vec![log("said")], ..threw("no") });

    let run = try_out(&world, &caller, &id, json!({}), Value::Null).await.unwrap();

    assert_eq!((&run["ok"], &run["emitted_count"]), (&json!(false), &json!(1)));
    assert_eq!((&run["error"]["message"], &run["logs"][0]["message"]), (&json!("no"), &json!("said")));
}

#[tokio::test]
async fn a_trial_is_refused_as_a_deploy_would_be() {
    let (world, caller) = world().await;
    let id = saved(&world, &caller, json!({"props": {"needed": {"type": "string"}}})).await;
    let action = components::create(&caller, &world.platform, code(&component("Act", json!({"type": "action"}))));
    let action = action.await.unwrap().id.to_string();
    let ran = world.sandbox.calls().len();

    let props = try_out(&world, &caller, &id, json!({}), Value::Null).await.unwrap_err();
    let kind = try_out(&world, &caller, &action, json!({}), Value::Null).await.unwrap_err();
    let missing = try_out(&world, &caller, "sc_Ab12Cd34Ef56", json!({}), Value::Null).await.unwrap_err();

    assert!(matches!(props, Error::Props(_)), "{props}");
    assert!(matches!(kind, Error::WrongKind { .. }), "{kind}");
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    assert_eq!(world.sandbox.calls().len(), ran, "nothing ran");
}

#[tokio::test]
async fn a_quota_that_is_used_up_refuses_a_trial() {
    let (world, admin) = world().await;
    let mut caller = world.user(&admin, "little").await;
    caller.user.plan = Plan::Free { quotas: Quotas { daily_invocations: 1, ..Quotas::default() } };
    let id = saved(&world, &caller, json!({})).await;

    try_out(&world, &caller, &id, json!({}), Value::Null).await.unwrap();
    let refused = try_out(&world, &caller, &id, json!({}), Value::Null).await.unwrap_err();

    assert!(matches!(refused, Error::Quota(_)), "{refused}");
}
