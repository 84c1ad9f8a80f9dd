//! Tests of the versions of sources.

use serde_json::{Value, json};

use super::unused_code::{collect, kept};
use super::{code, deploy, object, world};
use crate::fake::{World, component, threw};
use crate::manage::components;
use crate::manage::sources::{self, Rollback, SourceVersionView, UpdateSource, preview};
use crate::records::Source;
use crate::{Caller, Error, Noun};

const SECRET: &str = "s3cret";

fn versioned(version: &str) -> String {
    let props = json!({"word": {"type": "string", "default": "first"}, "token": {"type": "string", "secret": true, "optional": true}});
    component("hello", json!({"version": version, "key": "hello", "props": props}))
}

async fn hello(world: &World, caller: &Caller) -> Source {
    deploy(world, caller, &versioned("0.0.1"), json!({"token": SECRET})).await.unwrap()
}

async fn update(world: &World, caller: &Caller, id: &str, version: Option<&str>, props: Option<Value>) -> Source {
    let request = UpdateSource {
        component: version.map(|version| code(&versioned(version))).unwrap_or_default(),
        configured_props: props.map(object),
        ..UpdateSource::default()
    };
    sources::update(caller, &world.platform, id, request).await.unwrap()
}

async fn listed(world: &World, caller: &Caller, id: &str) -> Vec<SourceVersionView> {
    sources::versions(caller, &world.platform, id).await.unwrap()
}

fn numbers(versions: &[SourceVersionView]) -> Vec<(u32, String)> {
    versions.iter().map(|version| (version.version, version.component_version.clone())).collect()
}

#[tokio::test]
async fn an_update_keeps_the_version_before_and_secrets_stay_hidden() {
    let (world, caller) = world().await;
    let id = hello(&world, &caller).await.id.to_string();
    assert_eq!(numbers(&listed(&world, &caller, &id).await), [(1, "0.0.1".into())]);

    update(&world, &caller, &id, Some("0.0.2"), None).await;
    let props = json!({"word": "second", "token": domain::props::REDACTED});
    update(&world, &caller, &id, None, Some(props)).await;

    let versions = listed(&world, &caller, &id).await;
    assert_eq!(numbers(&versions), [(3, "0.0.2".into()), (2, "0.0.2".into()), (1, "0.0.1".into())]);
    assert_eq!(versions.iter().map(|version| version.current).collect::<Vec<_>>(), [true, false, false]);
    let words: Vec<&Value> = versions.iter().map(|version| &version.configured_props["word"]).collect();
    assert_eq!(words, ["second", "first", "first"]);
    assert!(!serde_json::to_string(&versions).unwrap().contains(SECRET));
    assert_eq!(versions[0].digest, versions[1].digest, "only the props differ");
}

#[tokio::test]
async fn an_update_that_changes_nothing_makes_no_version() {
    let (world, caller) = world().await;
    let id = hello(&world, &caller).await.id.to_string();

    let same = json!({"word": "first", "token": SECRET});
    let updated = update(&world, &caller, &id, Some("0.0.1"), Some(same)).await;
    collect(&world).await;

    assert_eq!((updated.version, listed(&world, &caller, &id).await.len()), (1, 1));
    assert_eq!(kept(&world, &caller).await, (1, 1));
}

#[tokio::test]
async fn a_rollback_brings_code_props_secrets_and_the_key_back_as_the_next_version() {
    let (world, caller) = world().await;
    let first = hello(&world, &caller).await;
    let id = first.id.to_string();
    update(&world, &caller, &id, Some("0.0.2"), Some(json!({"word": "second", "token": "other"}))).await;
    collect(&world).await;

    let back = sources::rollback(&caller, &world.platform, &id, Rollback::default()).await.unwrap();
    collect(&world).await;

    assert_eq!((back.version, &back.revision.component_id), (3, &first.revision.component_id));
    sources::run(&caller, &world.platform, &id, json!({})).await.unwrap();
    let props = world.sandbox.calls().last().unwrap()["props"].clone();
    assert_eq!((&props["word"], &props["token"]), (&json!("first"), &json!(SECRET)));
    assert_eq!(components::find(&caller, &world.platform, "hello").await.unwrap().0.description.version, "0.0.1");
    assert_eq!(numbers(&listed(&world, &caller, &id).await)[1], (2, "0.0.2".into()));
    sources::rollback(&caller, &world.platform, &id, Rollback::default()).await.unwrap();
    sources::delete(&caller, &world.platform, &id, false).await.unwrap();
    collect(&world).await;
    assert_eq!(kept(&world, &caller).await, (1, 1), "the key keeps the component that holds it, and no other");
}

#[tokio::test]
async fn a_rollback_of_the_code_alone_keeps_the_props() {
    let (world, caller) = world().await;
    let id = hello(&world, &caller).await.id.to_string();
    update(&world, &caller, &id, Some("0.0.2"), Some(json!({"word": "second"}))).await;

    let wanted = Rollback { version: Some(1), keeps_props: true, ..Rollback::default() };
    let back = sources::rollback(&caller, &world.platform, &id, wanted).await.unwrap();

    assert_eq!((back.revision.description.version.as_str(), &back.revision.props["word"]), ("0.0.1", &json!("second")));
}

#[tokio::test]
async fn a_rollback_runs_hooks_and_is_undone_when_one_fails() {
    let (world, caller) = world().await;
    let hooked = |version: &str| component("hooked", json!({"version": version, "hooks": {"activate": {"$fn": true}}}));
    let source = deploy(&world, &caller, &hooked("0.0.1"), json!({})).await.unwrap();
    let id = source.id.as_str();
    let next = UpdateSource { component: code(&hooked("0.0.2")), ..UpdateSource::default() };
    sources::update(&caller, &world.platform, id, next).await.unwrap();
    world.sandbox.script("hooked", |_| threw("no"));

    let failed = sources::rollback(&caller, &world.platform, id, Rollback::default()).await;
    collect(&world).await;

    assert!(matches!(failed, Err(Error::Hook { .. })));
    let versions = listed(&world, &caller, id).await;
    assert_eq!(numbers(&versions), [(2, "0.0.2".into()), (1, "0.0.1".into())]);
    assert_eq!(kept(&world, &caller).await, (2, 2));
}

#[tokio::test]
async fn a_version_that_is_not_kept_is_not_found() {
    let (world, caller) = world().await;
    let id = hello(&world, &caller).await.id.to_string();
    let to = async |version| {
        let wanted = Rollback { version, ..Rollback::default() };
        sources::rollback(&caller, &world.platform, &id, wanted).await.map(|source| source.version)
    };

    assert!(matches!(to(None).await, Err(Error::NotFound { noun: Noun::Version, .. })));
    update(&world, &caller, &id, Some("0.0.2"), None).await;
    for missing in [0, 2, 3] {
        assert!(matches!(to(Some(missing)).await, Err(Error::NotFound { noun: Noun::Version, .. })), "{missing}");
    }
    assert_eq!(to(Some(1)).await.unwrap(), 3);
}

#[tokio::test]
async fn history_is_bounded_by_count_and_by_bytes_and_one_step_back_stays() {
    let text_bytes = versioned("0.0.1").len() as u64;
    for (count, bytes, expected) in [(2, u64::MAX, 2), (20, 3 * text_bytes, 3), (20, 1, 1)] {
        let world = World::new(|config| {
            config.shares.source_versions = count;
            config.shares.source_version_bytes = bytes;
        });
        let caller = world.admin().await;
        let id = hello(&world, &caller).await.id.to_string();

        for version in 2..=6 {
            update(&world, &caller, &id, Some(&format!("0.0.{version}")), None).await;
        }
        collect(&world).await;

        assert_eq!(listed(&world, &caller, &id).await.len(), expected + 1, "{count} {bytes}");
        assert_eq!(
            kept(&world, &caller).await,
            (expected as u64 + 1, expected as u64 + 1),
            "the code of the others went"
        );
    }
}

#[tokio::test]
async fn history_gives_way_when_an_account_has_many_components() {
    let world = World::new(|config| config.shares.components = 6);
    let caller = world.admin().await;
    let id = hello(&world, &caller).await.id.to_string();

    for version in 2..=12 {
        update(&world, &caller, &id, Some(&format!("0.0.{version}")), None).await;
        collect(&world).await;
    }

    assert!(kept(&world, &caller).await.0 <= 4, "an account is never kept from deploying by its history");
}

#[tokio::test]
async fn a_version_whose_component_was_deleted_cannot_be_gone_back_to() {
    let (world, caller) = world().await;
    let saved = components::create(&caller, &world.platform, code(&versioned("0.0.1"))).await.unwrap();
    let by_id = components::CodeRequest { component_id: Some(saved.id.to_string()), ..Default::default() };
    let request = sources::CreateSource { component: by_id, ..Default::default() };
    let id = sources::create(&caller, &world.platform, request).await.unwrap().id.to_string();
    update(&world, &caller, &id, Some("0.0.2"), None).await;
    components::delete(&caller, &world.platform, saved.id.as_str()).await.unwrap();

    let gone = sources::rollback(&caller, &world.platform, &id, Rollback::default()).await;

    assert!(matches!(gone, Err(Error::NotFound { noun: Noun::Component, .. })));
    assert_eq!(sources::find(&caller, &world.platform, &id).await.unwrap().version, 2);
}

#[tokio::test]
async fn a_preview_names_what_would_change_and_changes_nothing() {
    let (world, caller) = world().await;
    let id = hello(&world, &caller).await.id.to_string();
    let look = async |request: UpdateSource| {
        let previewed = preview(&caller, &world.platform, &id, request).await.unwrap();
        previewed.changes.into_iter().map(|change| (change.what, change.before, change.after)).collect::<Vec<_>>()
    };

    let same = UpdateSource {
        component: code(&versioned("0.0.1")),
        configured_props: Some(object(json!({"token": SECRET}))),
        ..UpdateSource::default()
    };
    assert_eq!(look(same).await, []);
    let other = UpdateSource {
        component: code(&versioned("0.0.2")),
        name: Some("Renamed".into()),
        configured_props: Some(object(json!({"word": "second", "token": "other"}))),
        active: Some(false),
        project: Some("shop".into()),
        ..UpdateSource::default()
    };
    let changes = look(other).await;
    let names: Vec<&str> = changes.iter().map(|(what, ..)| what.as_str()).collect();
    assert_eq!(names, ["code", "name", "active", "project", "props.token", "props.word"]);
    assert_eq!(changes[4], ("props.token".into(), json!("********"), json!("********")));
    assert_eq!(changes[5], ("props.word".into(), json!("first"), json!("second")));

    let source = sources::find(&caller, &world.platform, &id).await.unwrap();
    assert_eq!((source.version, source.name.as_str(), source.project), (1, "hello", None));
    let wrong =
        UpdateSource { configured_props: Some(object(json!({"word": {"not": "text"}}))), ..UpdateSource::default() };
    assert!(matches!(preview(&caller, &world.platform, &id, wrong).await, Err(Error::Props(_))));
}
