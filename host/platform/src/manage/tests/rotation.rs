//! Tests of rotation.

use serde_json::json;

use super::{deploy, world};
use crate::Error;
use crate::fake::{component, with_keys, with_vault};
use crate::manage::webhooks::{self, NewWebhook};
use crate::manage::{first_start, rotation, sources};
use crate::vault::{KeyRing, Vault};

const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

#[tokio::test]
async fn after_rotation_everything_opens_with_the_new_key_alone() {
    let (world, caller) = world().await;
    let code = component("secret", json!({"props": {"token": {"type": "string", "secret": true}}}));
    let source = deploy(&world, &caller, &code, json!({"token": "s3cret"})).await.unwrap();
    let given = Some(super::object(json!({"token": "n3w"})));
    let change = sources::UpdateSource { configured_props: given, ..Default::default() };
    sources::update(&caller, &world.platform, source.id.as_str(), change).await.unwrap();
    let new = NewWebhook { url: "https://example.com".into(), ..NewWebhook::default() };
    let webhook = webhooks::create(&caller, &world.platform, new).await.unwrap().webhook;
    webhooks::rotate_secret(&caller, &world.platform, webhook.id.as_str(), 60).await.unwrap();

    let rotating = with_keys(&world.platform, &format!("{NEW} {OLD}"));
    let count = rotation::rewrap_all(&rotating).await.unwrap();
    let again = rotation::rewrap_all(&rotating).await.unwrap();
    let rotated = with_keys(&world.platform, NEW);

    assert_eq!((count, again), (5, 0), "the source, its earlier version, both secrets of the webhook and the check");
    sources::run(&caller, &rotated, source.id.as_str(), json!({})).await.unwrap();
    assert_eq!(world.sandbox.calls().last().unwrap()["props"]["token"], "n3w");
    sources::rollback(&caller, &rotated, source.id.as_str(), sources::Rollback::default()).await.unwrap();
    sources::run(&caller, &rotated, source.id.as_str(), json!({})).await.unwrap();
    assert_eq!(world.sandbox.calls().last().unwrap()["props"]["token"], "s3cret");
    first_start::start(&rotated, None).await.unwrap();
}

#[tokio::test]
async fn a_rotation_makes_a_key_in_the_file_and_everything_stays_open_while_it_is_under_way() {
    let (world, caller) = world().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("encryption.key");
    std::fs::write(&path, OLD).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let platform = with_vault(&world.platform, Vault::open_file(&path, world.platform.entropy.clone()).unwrap());
    let code = component("secret", json!({"props": {"token": {"type": "string", "secret": true}}}));
    let source = deploy(&world, &caller, &code, json!({"token": "s3cret"})).await.unwrap();
    let before = platform.vault.current_key_id();

    // The host dies after the key was made: nothing is lost, and the rotation is told to be unfinished.
    platform.vault.add_key().unwrap();
    let restarted = with_vault(&world.platform, Vault::open_file(&path, platform.entropy.clone()).unwrap());
    sources::run(&caller, &restarted, source.id.as_str(), json!({})).await.unwrap();
    assert!(first_start::has_unfinished_rotation(&restarted).await.unwrap());
    let resumed = rotation::rotate(&caller, &restarted, true).await.unwrap();

    assert_eq!(resumed.rewrapped, 2, "the source and the check");
    assert_ne!(resumed.key_id, before);
    assert!(!first_start::has_unfinished_rotation(&restarted).await.unwrap());
    KeyRing::retire_file(&path, &*platform.entropy).unwrap();
    let retired = with_vault(&world.platform, Vault::open_file(&path, platform.entropy.clone()).unwrap());
    first_start::start(&retired, None).await.unwrap();
    sources::run(&caller, &retired, source.id.as_str(), json!({})).await.unwrap();
}

#[tokio::test]
async fn keys_that_were_given_are_not_made_here() {
    let (world, caller) = world().await;

    let refused = rotation::rotate(&caller, &world.platform, false).await;

    assert!(matches!(refused, Err(Error::KeysGiven)));
    assert_eq!(rotation::rotate(&caller, &world.platform, true).await.unwrap().rewrapped, 0);
}
