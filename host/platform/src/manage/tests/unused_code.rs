//! Tests of collecting code that nobody uses.

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
    let jobs = world.store.lease_jobs(&Partition::all(world.store.partitions()), request).await.unwrap();
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
async fn code_that_an_update_replaced_goes_and_what_runs_stays() {
    let (world, caller) = world().await;
    let (first, second) = (component("first", json!({})), component("second", json!({})));
    let source = deploy(&world, &caller, &first, json!({})).await.unwrap();

    for text in [&second, &first, &second] {
        sources::update(&caller, &world.platform, source.id.as_str(), with_code(text)).await.unwrap();
        collect(&world).await;
        assert_eq!(kept(&world, &caller).await, (1, 1));
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
async fn what_somebody_saved_named_or_deployed_by_its_id_stays() {
    let (world, caller) = world().await;
    let saved = components::create(&caller, &world.platform, code(&component("saved", json!({})))).await.unwrap();
    let keyed = deploy(&world, &caller, &component("keyed", json!({"key": "keyed"})), json!({})).await.unwrap();
    let plain = deploy(&world, &caller, &component("plain", json!({})), json!({})).await.unwrap();
    let by_id = |id: &str| {
        let component = components::CodeRequest { component_id: Some(id.to_owned()), ..Default::default() };
        CreateSource { component, ..CreateSource::default() }
    };
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
    let (world, caller) = world().await;
    let text = |version: &str| component("keyed", json!({"key": "keyed", "version": version}));
    let source = deploy(&world, &caller, &text("0.0.1"), json!({})).await.unwrap();
    sources::update(&caller, &world.platform, source.id.as_str(), with_code(&text("0.0.2"))).await.unwrap();

    collect(&world).await;

    assert_eq!(kept(&world, &caller).await, (1, 1));
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
