//! Tests of collecting unused code.

use serde_json::json;
use store::{Page, Partition, Reads, Store, Work};

use super::{code, deploy, world};
use crate::fake::{World, component};
use crate::manage::chores;
use crate::manage::sources::{self, CreateSource, UpdateSource};
use crate::manage::{components, registry};
use crate::records::Job;
use crate::{Caller, Error};

/// Performs the chores that collect code, as a worker would.
pub(super) async fn collect(world: &World) {
    let request = store::LeaseRequest { now_ms: world.platform.clock.now_ms(), lease_ms: 1000, max: 100 };
    let jobs = world
        .store
        .lease_jobs(&Partition::all(world.store.partitions()), request, store::Shares::default())
        .await
        .unwrap();
    for leased in jobs.items {
        if let Ok(job @ Job::CollectCode { .. }) = Job::decode(&leased.payload) {
            chores::perform(&leased.tenant, &world.platform, &job).await.unwrap();
        }
    }
}

/// How many components and programs an account has.
pub(super) async fn kept(world: &World, caller: &Caller) -> (u64, u64) {
    let count = async |kind: &str| world.store.records(&caller.tenant, kind, Page::newest(1)).await.unwrap().total;
    (count("component").await, count("program").await)
}

fn with_code(text: &str) -> UpdateSource {
    UpdateSource { component: code(text), ..UpdateSource::default() }
}

#[tokio::test]
async fn code_that_is_out_of_use_and_out_of_history_goes() {
    let world = World::new(|config| config.shares.source_versions = 1);
    let caller = world.admin().await;
    let (first, second) = (component("first", json!({})), component("second", json!({})));
    let source = deploy(&world, &caller, &first, json!({})).await.unwrap();

    for text in [&second, &first, &second] {
        sources::update(&caller, &world.platform, source.id.as_str(), with_code(text)).await.unwrap();
        collect(&world).await;
        assert_eq!(kept(&world, &caller).await, (2, 2), "what runs, and one step back");
    }

    sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();
    sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (0, 0));
}

#[tokio::test]
async fn a_program_that_two_sources_share_goes_with_the_second() {
    let (world, caller) = world().await;
    let text = component("shared", json!({}));
    let first = deploy(&world, &caller, &text, json!({})).await.unwrap();
    let second = deploy(&world, &caller, &text, json!({})).await.unwrap();
    assert_eq!(kept(&world, &caller).await, (2, 1));

    sources::delete(&caller, &world.platform, first.id.as_str(), false).await.unwrap();
    collect(&world).await;

    assert_eq!(kept(&world, &caller).await, (1, 1));
    sources::run(&caller, &world.platform, second.id.as_str(), json!({})).await.unwrap();
}

#[tokio::test]
async fn code_that_was_saved_named_or_deployed_by_its_id_stays() {
    let (world, caller) = world().await;
    let saved = components::create(&caller, &world.platform, code(&component("saved", json!({})))).await.unwrap();
    let keyed = deploy(&world, &caller, &component("keyed", json!({"key": "keyed"})), json!({})).await.unwrap();
    let plain = deploy(&world, &caller, &component("plain", json!({})), json!({})).await.unwrap();
    let again = by_id(plain.revision.component_id.as_str());
    let copy = sources::create(&caller, &world.platform, again).await.unwrap();
    let from_saved = sources::create(&caller, &world.platform, by_id(saved.id.as_str())).await.unwrap();

    for source in [&keyed, &plain, &copy, &from_saved] {
        sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();
    }
    collect(&world).await;

    assert_eq!(kept(&world, &caller).await, (3, 3));
}

#[tokio::test]
async fn a_key_that_moves_on_leaves_its_former_component_to_be_collected() {
    let world = World::new(|config| config.shares.source_versions = 1);
    let caller = world.admin().await;
    let text = |version: &str| component("keyed", json!({"key": "keyed", "version": version}));
    let source = deploy(&world, &caller, &text("0.0.1"), json!({})).await.unwrap();
    sources::update(&caller, &world.platform, source.id.as_str(), with_code(&text("0.0.2"))).await.unwrap();

    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (2, 2), "it can be rolled back to");
    let third = with_code(&component("other", json!({})));
    sources::update(&caller, &world.platform, source.id.as_str(), third).await.unwrap();
    collect(&world).await;

    assert_eq!(kept(&world, &caller).await, (2, 2));
    assert_eq!(components::find(&caller, &world.platform, "keyed").await.unwrap().0.description.version, "0.0.2");
}

#[tokio::test]
async fn a_deploy_that_failed_leaves_no_code_behind() {
    let (world, caller) = world().await;
    world.sandbox.script("fails", |_| crate::fake::threw("no"));
    let text = component("fails", json!({"hooks": {"deploy": {"$fn": true}}}));

    let failed = deploy(&world, &caller, &text, json!({})).await;
    collect(&world).await;

    assert!(matches!(failed, Err(Error::Hook { .. })));
    assert_eq!(kept(&world, &caller).await, (0, 0));
}

fn by_id(id: &str) -> CreateSource {
    let component = components::CodeRequest { component_id: Some(id.to_owned()), ..Default::default() };
    CreateSource { component, ..CreateSource::default() }
}

#[tokio::test]
async fn a_refused_deploy_leaves_no_code_behind_and_what_was_saved_before_stays() {
    let (world, caller) = world().await;
    world.sandbox.script("fails", |_| crate::fake::threw("no"));
    let failing = component("fails", json!({"hooks": {"deploy": {"$fn": true}}, "props": {"n": "integer"}}));

    let bad_props = deploy(&world, &caller, &failing, json!({"n": "many"})).await;
    let hook = deploy(&world, &caller, &failing, json!({"n": 1})).await;
    let link = deploy(&world, &caller, "syntax error", json!({})).await;
    collect(&world).await;
    assert!(matches!((bad_props, hook, link), (Err(Error::Props(_)), Err(Error::Hook { .. }), Err(Error::Link(_)))));
    assert_eq!(kept(&world, &caller).await, (0, 0));

    let saved = components::create(&caller, &world.platform, code(&failing)).await.unwrap();
    let again = deploy(&world, &caller, &failing, json!({"n": 1})).await;
    collect(&world).await;
    assert!(again.is_err());
    assert_eq!(kept(&world, &caller).await, (1, 1));
    components::find(&caller, &world.platform, saved.id.as_str()).await.unwrap();
}

#[tokio::test]
async fn code_that_was_saved_to_be_deployed_goes_when_that_is_refused() {
    let (world, caller) = world().await;
    world.sandbox.script("fails", |_| crate::fake::threw("no"));
    let texts = [
        component("fails", json!({"hooks": {"activate": {"$fn": true}}})),
        component("asks", json!({"props": {"n": "integer"}})),
        component("acts", json!({"type": "action"})),
    ];
    let target = deploy(&world, &caller, &component("runs", json!({})), json!({})).await.unwrap();

    for text in &texts {
        let saved = components::create_temporary(&caller, &world.platform, code(text)).await.unwrap();
        sources::create(&caller, &world.platform, by_id(saved.id.as_str())).await.unwrap_err();
        collect(&world).await;
        assert_eq!(kept(&world, &caller).await, (1, 1), "{text}");

        let saved = components::create_temporary(&caller, &world.platform, code(text)).await.unwrap();
        let component = components::CodeRequest { component_id: Some(saved.id.to_string()), ..Default::default() };
        let update = UpdateSource { component, ..UpdateSource::default() };
        sources::update(&caller, &world.platform, target.id.as_str(), update).await.unwrap_err();
        collect(&world).await;
        assert_eq!(kept(&world, &caller).await, (1, 1), "{text}");
    }
    sources::run(&caller, &world.platform, target.id.as_str(), json!({})).await.unwrap();
}

#[tokio::test]
async fn code_that_was_saved_to_be_deployed_lives_as_long_as_its_sources_and_takes_its_key() {
    let (world, caller) = world().await;
    let text = component("plain", json!({}));
    let saved = components::create_temporary(&caller, &world.platform, code(&text)).await.unwrap();
    let first = sources::create(&caller, &world.platform, by_id(saved.id.as_str())).await.unwrap();
    let second = sources::create(&caller, &world.platform, by_id(saved.id.as_str())).await.unwrap();

    sources::delete(&caller, &world.platform, first.id.as_str(), false).await.unwrap();
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (1, 1));
    sources::delete(&caller, &world.platform, second.id.as_str(), false).await.unwrap();
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (0, 0));

    let keyed = component("keyed", json!({"key": "keyed"}));
    let saved = components::create_temporary(&caller, &world.platform, code(&keyed)).await.unwrap();
    assert!(components::find(&caller, &world.platform, "keyed").await.is_err());
    sources::create(&caller, &world.platform, by_id(saved.id.as_str())).await.unwrap();
    assert_eq!(components::find(&caller, &world.platform, "keyed").await.unwrap().0.id, saved.id);
}

#[tokio::test]
async fn code_that_was_saved_to_be_deployed_and_never_was_goes_after_a_day() {
    let (world, caller) = world().await;
    components::create_temporary(&caller, &world.platform, code(&component("c", json!({})))).await.unwrap();

    world.clock.advance(24 * 3600 * 1000 - 1);
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (1, 1));
    world.clock.advance(1);
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (0, 0));
}

#[tokio::test]
async fn a_refused_deploy_by_id_leaves_a_component_with_the_source_it_came_with() {
    let (world, caller) = world().await;
    let text = component("once", json!({"hooks": {"deploy": {"$fn": true}}, "props": {"n": "integer"}}));
    let source = deploy(&world, &caller, &text, json!({"n": 1})).await.unwrap();
    world.sandbox.script("once", |_| crate::fake::threw("no"));
    let id = source.revision.component_id.as_str();

    let bad_props = sources::create(&caller, &world.platform, by_id(id)).await;
    let with_props = CreateSource { configured_props: super::object(json!({"n": 2})), ..by_id(id) };
    let hook = sources::create(&caller, &world.platform, with_props).await;
    sources::delete(&caller, &world.platform, source.id.as_str(), false).await.unwrap();
    collect(&world).await;

    assert!(matches!((bad_props, hook), (Err(Error::Props(_)), Err(Error::Hook { .. }))));
    assert_eq!(kept(&world, &caller).await, (0, 0));
}

#[tokio::test]
async fn an_update_whose_host_died_leaves_the_code_in_use_and_no_other() {
    let (world, caller) = world().await;
    let old = deploy(&world, &caller, &component("old", json!({})), json!({})).await.unwrap();
    world.sandbox.script_async("new", |_, _| std::future::pending());
    let new = component("new", json!({"hooks": {"activate": {"$fn": true}}}));
    let update = sources::update(&caller, &world.platform, old.id.as_str(), with_code(&new));

    // The host goes away while the hook runs.
    assert!(futures_util::FutureExt::now_or_never(update).is_none());
    assert_eq!(kept(&world, &caller).await, (2, 2));
    world.clock.advance(24 * 3600 * 1000);
    collect(&world).await;

    assert_eq!(kept(&world, &caller).await, (1, 1));
    let source = sources::find(&caller, &world.platform, old.id.as_str()).await.unwrap();
    components::find(&caller, &world.platform, source.revision.component_id.as_str()).await.unwrap();
}

#[tokio::test]
async fn sources_of_the_registry_leave_it_alone() {
    let (world, admin) = world().await;
    let text = component("published", json!({"key": "demo-published", "version": "1.0.0"}));
    registry::publish(&admin, &world.platform, code(&text)).await.unwrap();
    let component = components::CodeRequest { key: Some("demo-published".into()), ..Default::default() };
    let request = CreateSource { component, ..CreateSource::default() };
    let source = sources::create(&admin, &world.platform, request).await.unwrap();

    sources::delete(&admin, &world.platform, source.id.as_str(), false).await.unwrap();
    collect(&world).await;

    assert!(registry::find(&world.platform, "demo-published").await.is_ok());
}
