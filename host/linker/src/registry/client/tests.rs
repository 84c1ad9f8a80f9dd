//! The registry, when it misbehaves.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;

use super::Client;
use crate::{
    FetchError,
    testing::{BASE, FakeRegistry, config, response},
};

fn unreachable() -> Result<crate::FetchResponse, FetchError> {
    Err(FetchError::Unreachable { cause: "connection reset".to_owned() })
}

type Answer = fn() -> Result<crate::FetchResponse, FetchError>;

struct World {
    registry: Arc<FakeRegistry>,
    client: Client,
    _folder: tempfile::TempDir,
}

fn world() -> World {
    let registry = Arc::new(FakeRegistry::default());
    registry.publish("a", "1.0.0", &json!({}), &[("index.js", "1")]);
    let folder = tempfile::tempdir().unwrap();
    let client = Client::new(Arc::new(config(folder.path())), Arc::clone(&registry) as _);
    World { registry, client, _folder: folder }
}

async fn package(world: &World) -> Result<usize, String> {
    let packument = world.client.packument("a").await.unwrap().unwrap();
    let manifest = packument.manifest("1.0.0").unwrap();
    let delivery = world.client.package("a@1.0.0", &manifest.dist.tarball, &manifest.integrity()).await;
    delivery.map(|delivery| delivery.files.len()).map_err(|error| error.code().to_owned())
}

#[tokio::test(start_paused = true)]
async fn passing_trouble_is_waited_out() {
    for trouble in [|| Ok(response(500, Bytes::new())), || Ok(response(429, Bytes::new())), unreachable] {
        let world = world();
        world.registry.fail("a", trouble()).fail("a", trouble());

        assert!(world.client.packument("a").await.unwrap().is_some());
        assert_eq!(world.registry.count(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn lasting_trouble_is_unavailability() {
    let cases =
        [(unreachable as fn() -> _, "registry_unreachable"), (|| Ok(response(503, Bytes::new())), "registry_status")];
    for (trouble, code) in cases {
        let world = world();
        world.registry.fail("a", trouble()).fail("a", trouble()).fail("a", trouble());

        let error = world.client.packument("a").await.unwrap_err();

        assert_eq!((error.code(), error.blame()), (code, crate::Blame::Unavailable));
        assert_eq!(world.registry.count(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_will_not_change_are_not_asked_for_again() {
    let refused = || Err(FetchError::Refused { cause: "address".to_owned() });
    let cases: [(Answer, &str); 4] = [
        (refused, "registry_unreachable"),
        (|| Ok(response(401, Bytes::new())), "registry_status"),
        (|| Ok(response(200, Bytes::from_static(b"<html>"))), "registry_answer"),
        (|| Err(FetchError::TooLarge { limit_bytes: 1 }), "over_limit"),
    ];
    for (answer, code) in cases {
        let world = world();
        // What is too large for the small part of the budget is asked for once more, with room for it.
        let asked = if code == "over_limit" { 2 } else { 1 };
        for _ in 0..asked {
            world.registry.fail("a", answer());
        }

        assert_eq!(world.client.packument("a").await.unwrap_err().code(), code);
        assert_eq!(world.registry.count(), asked);
    }
}

#[tokio::test]
async fn unknown_packages_are_absent() {
    assert!(world().client.packument("b").await.unwrap().is_none());
}

#[tokio::test]
async fn a_damaged_download_is_tried_once_more() {
    let world = world();
    let damaged = || Ok(response(200, Bytes::from_static(b"damaged")));
    world.registry.fail("a/-/1.0.0.tgz", damaged());

    assert_eq!(package(&world).await, Ok(2));
}

#[tokio::test]
async fn lasting_damage_is_an_integrity_mismatch() {
    let world = world();
    let damaged = || Ok(response(200, Bytes::from_static(b"damaged")));
    world.registry.fail("a/-/1.0.0.tgz", damaged()).fail("a/-/1.0.0.tgz", damaged());

    assert_eq!(package(&world).await, Err("integrity_mismatch".to_owned()));
}

#[tokio::test]
async fn what_is_cached_is_not_asked_for_again() {
    let world = world();
    package(&world).await.unwrap();
    let before = world.registry.count();

    package(&world).await.unwrap();

    assert_eq!(world.registry.count(), before);
}

#[tokio::test]
async fn stale_packuments_are_revalidated_with_their_etag() {
    let registry = Arc::new(FakeRegistry::default());
    registry.publish("a", "1.0.0", &json!({}), &[]);
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    config.packument_fresh_for = std::time::Duration::ZERO;
    let client = Client::new(Arc::new(config), Arc::clone(&registry) as _);
    client.packument("a").await.unwrap().unwrap();

    client.packument("a").await.unwrap().unwrap();
    registry.publish("a", "1.1.0", &json!({}), &[]);
    let changed = client.packument("a").await.unwrap().unwrap();

    assert!(changed.manifest("1.1.0").is_some());
    let requests = registry.requests.lock().unwrap();
    let has_etag: Vec<bool> =
        requests.iter().map(|(_, headers)| headers.iter().any(|(name, _)| name == "if-none-match")).collect();
    assert_eq!(has_etag, [false, true, true]);
    assert!(
        requests[0]
            .1
            .iter()
            .any(|(name, value)| name == "accept" && value.starts_with("application/vnd.npm.install-v1+json"))
    );
}

#[tokio::test]
async fn credentials_are_used_for_their_tenant_and_open_the_cache_to_no_other() {
    let registry = Arc::new(FakeRegistry::default());
    registry.publish("@acme/a", "1.0.0", &json!({}), &[("index.js", "1")]);
    registry.publish("b", "1.0.0", &json!({}), &[("index.js", "1")]);
    let folder = tempfile::tempdir().unwrap();
    let npmrc = format!("registry={BASE}\n//registry.test/:_authToken=s3cret");
    let mut config = config(folder.path());
    config.registry = crate::Registry::from_texts(&[&npmrc], &|_| None);
    config.credentials = vec!["u_1@@acme".parse().unwrap()];
    let client = Client::new(Arc::new(config), Arc::clone(&registry) as _);
    let get = async |tenant: &str, name: &str| {
        let client = client.for_link(&tenant.into());
        let packument = client.packument(name).await.unwrap().unwrap();
        let manifest = packument.manifest("1.0.0").unwrap();
        let package = format!("{name}@1.0.0");
        client.package(&package, &manifest.dist.tarball, &manifest.integrity()).await.unwrap();
        let requests = std::mem::take(&mut *registry.requests.lock().unwrap());
        let is_authenticated = |(_, headers): &(String, Vec<(String, String)>)| {
            headers.iter().any(|(name, value)| name == "authorization" && value == "Bearer s3cret")
        };
        requests.iter().map(is_authenticated).collect::<Vec<_>>()
    };

    assert_eq!(get("u_1", "@acme/a").await, [true, true]);
    assert_eq!(get("u_2", "@acme/a").await, [false, false], "asked for anew, without the credentials");
    assert_eq!(get("u_1", "b").await, [false, false], "of another scope");
    assert_eq!(get("u_2", "b").await, [false; 0], "a public package is cached for all tenants");
}
