//! Tests of rotation.

use serde_json::json;

use super::{deploy, world};
use crate::fake::component;
use crate::manage::webhooks::{self, NewWebhook};
use crate::manage::{rotation, sources};
use crate::vault::{KeyRing, Vault};
use crate::{Parts, Platform, Programs};

const OLD: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const NEW: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

fn with_keys(platform: &Platform, keys: &str) -> Platform {
    Platform::new(Parts {
        store: platform.store.clone(),
        sandbox: platform.sandbox.clone(),
        linker: platform.linker.clone(),
        outbound: platform.outbound.clone(),
        clock: platform.clock.clone(),
        entropy: platform.entropy.clone(),
        vault: Vault::new(KeyRing::parse(keys).unwrap(), platform.entropy.clone()),
        programs: Programs::default(),
        config: platform.config.clone(),
    })
}

#[tokio::test]
async fn after_rotation_everything_opens_with_the_new_key_alone() {
    let (world, caller) = world().await;
    let code = component("secret", json!({"props": {"token": {"type": "string", "secret": true}}}));
    let source = deploy(&world, &caller, &code, json!({"token": "s3cret"})).await.unwrap();
    let new = NewWebhook { url: "https://example.com".into(), ..NewWebhook::default() };
    webhooks::create(&caller, &world.platform, new).await.unwrap();

    let rotating = with_keys(&world.platform, &format!("{NEW} {OLD}"));
    let count = rotation::rewrap_all(&rotating).await.unwrap();
    let again = rotation::rewrap_all(&rotating).await.unwrap();
    let rotated = with_keys(&world.platform, NEW);

    assert_eq!((count, again), (3, 0), "the source, the webhook and the check");
    sources::run(&caller, &rotated, source.id.as_str(), json!({})).await.unwrap();
    assert_eq!(world.sandbox.calls().last().unwrap()["props"]["token"], "s3cret");
    crate::manage::first_start::start(&rotated, None).await.unwrap();
}
