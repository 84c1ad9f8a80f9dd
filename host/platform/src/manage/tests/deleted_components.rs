//! Tests of deleting components.

use std::sync::{Arc, Mutex};

use serde_json::json;
use store::{Op, Reads, Store};

use super::unused_code::{collect, kept};
use super::{code, world};
use crate::fake::{World, component, threw};
use crate::manage::components::{self, CodeRequest};
use crate::manage::sources::{self, CreateSource, UpdateSource};
use crate::manage::workflows;
use crate::manage::{chores, registry};
use crate::ports::Progress;
use crate::records::{Component, Job, Source};
use crate::{Caller, Error};

async fn save(world: &World, caller: &Caller, name: &str, more: serde_json::Value) -> Component {
    components::create(caller, &world.platform, code(&component(name, more))).await.unwrap()
}

async fn store_values(world: &World, caller: &Caller, scope: &str, count: usize) {
    let mut batch = world.platform.batch(&caller.tenant);
    let set = |key: usize| {
        let (scope, key, value) = (scope.to_owned(), key.to_string(), "1".into());
        Op::SetValue { scope, key, value, cap_bytes: 1 << 20 }
    };
    batch.operations = (0..count).map(set).collect();
    world.store.commit(batch).await.unwrap();
}

fn by_id(id: &str) -> CodeRequest {
    CodeRequest { component_id: Some(id.to_owned()), ..CodeRequest::default() }
}

async fn deploy_saved(world: &World, caller: &Caller, id: &str) -> Result<Source, Error> {
    let request = CreateSource { component: by_id(id), ..CreateSource::default() };
    sources::create(caller, &world.platform, request).await
}

#[tokio::test]
async fn a_deleted_component_goes_with_its_program_and_what_it_stored() {
    let (world, caller) = world().await;
    let saved = save(&world, &caller, "action", json!({"type": "action"})).await;
    let scope = format!("db/{}", saved.id);
    store_values(&world, &caller, &scope, 1).await;

    components::delete(&caller, &world.platform, saved.id.as_str()).await.unwrap();
    collect(&world).await;

    let gone = components::find(&caller, &world.platform, saved.id.as_str()).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }));
    assert_eq!(kept(&world, &caller).await, (0, 0));
    assert_eq!(world.store.values(&caller.tenant, &scope, &[]).await.unwrap().size_bytes, 0);
}

#[tokio::test]
async fn a_component_that_a_source_or_a_workflow_uses_is_refused_and_stays() {
    let (world, caller) = world().await;
    let saved = save(&world, &caller, "saved", json!({})).await;
    let action = save(&world, &caller, "action", json!({"type": "action"})).await;
    let source = deploy_saved(&world, &caller, saved.id.as_str()).await.unwrap();
    let steps = json!([{"namespace": "only", "component_id": action.id}]);
    let new = json!({"settings": {"name": "w"}, "steps": steps});
    let workflow = workflows::create(&caller, &world.platform, new).await.unwrap();

    let users = [format!("saved ({})", source.id), format!("step only of workflow w ({})", workflow.id)];
    for (component, user) in [&saved, &action].into_iter().zip(users) {
        let refused = components::delete(&caller, &world.platform, component.id.as_str()).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("component `{}` is used by {user}", component.id));
    }
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (2, 3));

    sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();
    components::delete(&caller, &world.platform, saved.id.as_str()).await.unwrap();
}

#[tokio::test]
async fn a_program_that_another_component_shares_stays() {
    let (world, caller) = world().await;
    let first = save(&world, &caller, "same", json!({})).await;
    let second = save(&world, &caller, "same", json!({})).await;

    components::delete(&caller, &world.platform, first.id.as_str()).await.unwrap();
    collect(&world).await;

    assert_eq!(kept(&world, &caller).await, (1, 1));
    deploy_saved(&world, &caller, second.id.as_str()).await.unwrap();
}

#[tokio::test]
async fn a_component_is_deleted_by_its_key_and_the_key_is_free() {
    let (world, caller) = world().await;
    let saved = save(&world, &caller, "keyed", json!({"key": "keyed"})).await;

    components::delete(&caller, &world.platform, "keyed").await.unwrap();

    for name in ["keyed", saved.id.as_str()] {
        let gone = components::delete(&caller, &world.platform, name).await.unwrap_err();
        assert!(matches!(gone, Error::NotFound { .. }), "{name}");
    }
}

#[tokio::test]
async fn a_component_of_the_registry_cannot_be_deleted() {
    let (world, admin) = world().await;
    let text = component("published", json!({"key": "demo-published", "version": "1.0.0"}));
    let published = registry::publish(&admin, &world.platform, code(&text)).await.unwrap();

    for name in ["demo-published", published.id.as_str()] {
        let refused = components::delete(&admin, &world.platform, name).await.unwrap_err();
        assert!(matches!(refused, Error::NotFound { .. }), "{name}");
    }
    assert!(registry::find(&world.platform, "demo-published").await.is_ok());
}

#[tokio::test]
async fn what_an_update_may_go_back_to_is_not_deleted_meanwhile() {
    let (world, caller) = world().await;
    let saved = save(&world, &caller, "before", json!({})).await;
    let source = deploy_saved(&world, &caller, saved.id.as_str()).await.unwrap();
    let refusal = Arc::new(Mutex::new(None));
    let (told, platform, acting) = (refusal.clone(), world.platform.clone(), caller.clone());
    world.sandbox.script_async("after", move |_, _| {
        let (told, platform, acting, id) = (told.clone(), platform.clone(), acting.clone(), saved.id.clone());
        async move {
            *told.lock().unwrap() = components::delete(&acting, &platform, id.as_str()).await.err();
            threw("no")
        }
    });

    let after = code(&component("after", json!({"hooks": {"activate": {"$fn": true}}})));
    let request = UpdateSource { component: after, ..UpdateSource::default() };
    let failed = sources::update(&caller, &world.platform, source.id.as_str(), request).await;

    assert!(matches!(failed, Err(Error::Hook { .. })));
    assert!(matches!(*refusal.lock().unwrap(), Some(Error::Busy { .. })));
    sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_component_that_is_deployed_while_it_is_deleted_is_there_or_not_deployed() {
    let (world, caller) = world().await;
    let world = Arc::new(world);
    for round in 0..200 {
        let saved = save(&world, &caller, "saved", json!({})).await;
        let id = saved.id.to_string();
        let (deploying, deleting) = ((world.clone(), caller.clone(), id.clone()), (world.clone(), caller.clone(), id));

        let deployed = tokio::spawn(async move { deploy_saved(&deploying.0, &deploying.1, &deploying.2).await });
        let deleted =
            tokio::spawn(async move { components::delete(&deleting.1, &deleting.0.platform, &deleting.2).await });
        let (deployed, deleted) = (deployed.await.unwrap(), deleted.await.unwrap());
        collect(&world).await;

        assert!(!(deployed.is_ok() && deleted.is_ok()), "round {round}: one of them is refused");
        if let Ok(source) = deployed {
            components::find(&caller, &world.platform, saved.id.as_str()).await.unwrap();
            sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();
            sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_a_component_stored_is_cleared_in_bounded_steps() {
    let (world, caller) = world().await;
    let saved = save(&world, &caller, "action", json!({"type": "action"})).await;
    let scope = format!("db/{}", saved.id);
    store_values(&world, &caller, &scope, 1000).await;
    components::delete(&caller, &world.platform, saved.id.as_str()).await.unwrap();
    let job = Job::CollectCode { component: saved.id, program: saved.program };

    let first = chores::perform(&caller.tenant, &world.platform, &job).await.unwrap();
    let second = chores::perform(&caller.tenant, &world.platform, &job).await.unwrap();

    assert_eq!((first, second), (Progress::More, Progress::Done));
    assert_eq!(kept(&world, &caller).await, (0, 0));
}
