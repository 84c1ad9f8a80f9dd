//! Tests of hooks.

use serde_json::{Value, json};
use store::{LeaseRequest, PARTITIONS, Partition, Work};

use super::{code, deploy, object, world};
use crate::fake::{World, component, emit, returned, threw};
use crate::manage::chores;
use crate::manage::events::{self, EventQuery};
use crate::manage::sources::{self, UpdateSource};
use crate::ports::Outcome;
use crate::records::{Job, Phase};
use crate::{Caller, Error};

const ALL_HOOKS: &str = r#"{"deploy": {"$fn": true}, "activate": {"$fn": true}, "deactivate": {"$fn": true}}"#;

fn with_hooks(name: &str) -> String {
    let hooks: Value = serde_json::from_str(ALL_HOOKS).unwrap();
    component(name, json!({"hooks": hooks, "props": {"word": {"type": "string", "optional": true}}}))
}

/// Makes one hook of the components of a name throw.
fn fail(world: &World, name: &str, hook: &'static str) {
    world.sandbox.script(name, move |call| match call["hook"] == hook {
        true => threw("no such hook url"),
        false => returned(&Value::Null),
    });
}

/// Performs every chore that is due, as a worker would.
async fn perform_chores(world: &World) {
    let request = LeaseRequest { now_ms: world.platform.clock.now_ms(), lease_ms: 1000, max: 100 };
    for leased in
        world.store.lease_jobs(&Partition::all(PARTITIONS), request, store::Shares::default()).await.unwrap().items
    {
        let job = Job::decode(&leased.payload).unwrap();
        chores::perform(&leased.tenant, &world.platform, &job).await.unwrap();
    }
}

async fn change(world: &World, caller: &Caller, id: &str, request: UpdateSource) -> Result<bool, Error> {
    Ok(sources::update(caller, &world.platform, id, request).await?.is_active)
}

fn replace(component: &str) -> UpdateSource {
    UpdateSource { component: code(component), ..UpdateSource::default() }
}

#[tokio::test]
async fn deploying_runs_deploy_then_activate() {
    let (world, caller) = world().await;

    deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();

    assert_eq!(world.sandbox.called(), ["deploy", "activate"]);
}

#[tokio::test]
async fn updating_runs_deactivate_with_the_old_props_then_activate_with_the_new_ones() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({"word": "old"})).await.unwrap();

    let request = UpdateSource { configured_props: Some(object(json!({"word": "new"}))), ..replace(&with_hooks("b")) };
    change(&world, &caller, source.id.as_str(), request).await.unwrap();

    let calls = world.sandbox.calls();
    let told: Vec<_> = calls.iter().map(|call| (call["hook"].as_str().unwrap(), &call["props"]["word"])).collect();
    let (old, new) = (&json!("old"), &json!("new"));
    assert_eq!(told, [("deploy", old), ("activate", old), ("deactivate", old), ("activate", new)]);
}

#[tokio::test]
async fn deleting_runs_deactivate() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();

    sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();

    assert_eq!(world.sandbox.called(), ["deploy", "activate", "deactivate"]);
    let gone = sources::find(&caller, &world.platform, source.id.as_str()).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound { .. }));
}

#[tokio::test]
async fn changing_only_the_active_flag_runs_that_one_hook() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();
    let flag = |active| UpdateSource { active: Some(active), ..UpdateSource::default() };

    let off = change(&world, &caller, source.id.as_str(), flag(false)).await.unwrap();
    let on = change(&world, &caller, source.id.as_str(), flag(true)).await.unwrap();

    assert_eq!((off, on), (false, true));
    assert_eq!(world.sandbox.called()[2..], ["deactivate", "activate"]);
}

#[tokio::test]
async fn a_new_name_alone_runs_no_hook() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();

    let request = UpdateSource { name: Some("Other Name".into()), ..UpdateSource::default() };
    let renamed = sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap();

    assert_eq!((renamed.name.as_str(), renamed.slug.as_str()), ("Other Name", "other-name"));
    assert_eq!(world.sandbox.called().len(), 2);
}

#[tokio::test]
async fn an_inactive_source_is_replaced_without_hooks_and_deleted_without_deactivate() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();
    let off = UpdateSource { active: Some(false), ..UpdateSource::default() };
    change(&world, &caller, source.id.as_str(), off).await.unwrap();

    let request = UpdateSource { active: Some(false), ..replace(&with_hooks("b")) };
    let replaced = sources::update(&caller, &world.platform, source.id.as_str(), request).await.unwrap();
    sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();

    assert_eq!(replaced.revision.description.name, "b");
    assert_eq!(world.sandbox.called(), ["deploy", "activate", "deactivate"]);
}

#[tokio::test]
async fn an_update_of_an_inactive_source_activates_it_because_active_defaults_to_true() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();
    let off = UpdateSource { active: Some(false), ..UpdateSource::default() };
    change(&world, &caller, source.id.as_str(), off).await.unwrap();

    let is_active = change(&world, &caller, source.id.as_str(), replace(&with_hooks("b"))).await.unwrap();

    assert!(is_active);
    assert_eq!(world.sandbox.called()[2..], ["deactivate", "activate"]);
}

#[tokio::test]
async fn a_failing_deploy_or_activate_leaves_no_source_behind() {
    for hook in ["deploy", "activate"] {
        let (world, caller) = world().await;
        fail(&world, "a", hook);

        let error = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap_err();

        assert!(matches!(&error, Error::Hook { hook: failed, .. } if failed.as_str() == hook), "{error}");
        let listed = sources::list(&caller, &world.platform, &Default::default()).await.unwrap();
        let components = crate::manage::components::list(&caller, &world.platform, &Default::default()).await.unwrap();
        assert_eq!((listed.info.total_count, components.info.total_count), (0, 0), "{hook}");
    }
}

#[tokio::test]
async fn a_failing_activate_puts_the_old_code_and_props_back_and_activates_them_again() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({"word": "old"})).await.unwrap();
    fail(&world, "b", "activate");

    let request = UpdateSource { configured_props: Some(object(json!({"word": "new"}))), ..replace(&with_hooks("b")) };
    let error = change(&world, &caller, source.id.as_str(), request).await.unwrap_err();

    assert!(matches!(error, Error::Hook { .. }));
    let after = sources::find(&caller, &world.platform, source.id.as_str()).await.unwrap();
    assert_eq!(after.revision, source.revision);
    assert_eq!((after.phase, after.is_active, after.updated_at), (source.phase, true, source.updated_at));
    assert_eq!(world.sandbox.called()[2..], ["deactivate", "activate", "activate"]);
    assert_eq!(world.sandbox.calls().last().unwrap()["props"]["word"], "old");
}

#[tokio::test]
async fn a_failing_deactivate_blocks_deleting_unless_hook_errors_are_ignored() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();
    fail(&world, "a", "deactivate");

    let blocked = sources::delete(&caller, &world.platform, source.id.as_str(), false).await;
    let still_there = sources::find(&caller, &world.platform, source.id.as_str()).await.unwrap();
    let ignored = sources::delete(&caller, &world.platform, source.id.as_str(), true).await;

    assert!(matches!(blocked, Err(Error::Hook { .. })));
    assert!(still_there.is_active);
    ignored.unwrap();
}

#[tokio::test]
async fn what_a_hook_emits_becomes_an_event_of_the_source() {
    let (world, caller) = world().await;
    world.sandbox.script("a", |_| Outcome { emits: vec![emit(&json!({"from": "hook"}))], ..returned(&Value::Null) });

    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();

    let page = events::of_source(&caller, &world.platform, source.id.as_str(), &EventQuery::default()).await.unwrap();
    assert_eq!(page.items.len(), 2, "deploy and activate each emit once");
    assert_eq!(page.items[0].event, json!({"from": "hook"}));
}

#[tokio::test]
async fn a_second_change_while_one_is_under_way_is_refused() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &with_hooks("a"), json!({})).await.unwrap();
    let (platform, other) = (world.platform.clone(), caller.clone());
    let id = source.id.to_string();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let noted = seen.clone();
    world.sandbox.script_async("a", move |_, _| {
        let (platform, other, id, noted) = (platform.clone(), other.clone(), id.clone(), noted.clone());
        async move {
            let refused = sources::delete(&other, &platform, &id, false).await;
            noted.lock().unwrap().push(matches!(refused, Err(Error::Busy { .. })));
            returned(&Value::Null)
        }
    });

    sources::update(&caller, &world.platform, source.id.as_str(), replace(&with_hooks("a"))).await.unwrap();

    assert_eq!(*seen.lock().unwrap(), [true, true], "once from deactivate, once from activate");
}

#[tokio::test]
async fn a_change_whose_host_died_is_ended_and_the_timers_run_again() {
    let (world, caller) = world().await;
    let timer =
        component("tick", json!({"props": {"timer": "$.interface.timer"}, "hooks": {"activate": {"$fn": true}}}));
    let source = deploy(&world, &caller, &timer, json!({"timer": {"intervalSeconds": 60}})).await.unwrap();
    world.sandbox.script_async("tick", |_, _| std::future::pending());
    let update = sources::update(&caller, &world.platform, source.id.as_str(), replace(&timer));
    // The host goes away while the hook runs.
    assert!(futures_util::FutureExt::now_or_never(update).is_none());
    world.sandbox.script("tick", |_| returned(&Value::Null));

    let busy = sources::delete(&caller, &world.platform, source.id.as_str(), false).await;
    world.clock.advance(24 * 3600 * 1000);
    perform_chores(&world).await;

    assert!(matches!(busy, Err(Error::Busy { .. })));
    let ended = sources::find(&caller, &world.platform, source.id.as_str()).await.unwrap();
    assert_eq!(ended.phase, Phase::Settled);
    world.clock.advance(60_000);
    let request = LeaseRequest { now_ms: world.platform.clock.now_ms(), lease_ms: 1, max: 10 };
    let ticks = world.store.lease_timers(&Partition::all(PARTITIONS), request).await.unwrap();
    assert_eq!(ticks.items.len(), 1);
}

#[tokio::test]
async fn a_timer_starts_one_interval_after_activation_and_stops_with_deactivation() {
    let (world, caller) = world().await;
    let timer = component("tick", json!({"props": {"timer": "$.interface.timer"}}));
    let source = deploy(&world, &caller, &timer, json!({"timer": {"intervalSeconds": 60}})).await.unwrap();
    let due = |world: &World| {
        let (store, now_ms) = (world.store.clone(), world.platform.clock.now_ms());
        async move {
            let partitions = Partition::all(PARTITIONS);
            let request = LeaseRequest { now_ms, lease_ms: 1, max: 10 };
            store.lease_timers(&partitions, request).await.unwrap().items.len()
        }
    };

    world.clock.advance(59_999);
    let early = due(&world).await;
    world.clock.advance(1);
    let on_time = due(&world).await;
    let off = UpdateSource { active: Some(false), ..UpdateSource::default() };
    change(&world, &caller, source.id.as_str(), off).await.unwrap();
    world.clock.advance(120_000);
    let stopped = due(&world).await;

    assert_eq!((early, on_time, stopped), (0, 1, 0));
}
