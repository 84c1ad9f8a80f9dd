//! Tests of keys.

use domain::users::{Plan, Role};
use serde_json::json;

use super::world;
use crate::fake::World;
use crate::manage::first_start::{self, Started};
use crate::manage::keys::{self, authenticate};
use crate::manage::users::{self, NewUser, UserChange};
use crate::{Error, Secret};

#[tokio::test]
async fn the_first_start_makes_an_admin_and_the_second_makes_nobody() {
    let world = World::default();
    let Started::First(new) = first_start::start(&world.platform, None).await.unwrap() else {
        panic!("not the first start");
    };

    let caller = authenticate(&world.platform, &new.key).await.unwrap().unwrap();

    assert_eq!(caller.user.role, Role::Admin);
    assert!(new.key.expose().starts_with("ws_"));
    assert!(matches!(first_start::start(&world.platform, None).await.unwrap(), Started::Again));
}

#[tokio::test]
async fn a_chosen_key_is_the_key_of_the_first_account() {
    let world = World::default();
    let chosen = Secret::new("chosen-by-the-operator".to_owned());

    first_start::start(&world.platform, Some(&chosen)).await.unwrap();

    assert!(authenticate(&world.platform, &chosen).await.unwrap().is_some());
}

#[tokio::test]
async fn a_chosen_key_of_twenty_characters_is_taken_and_a_shorter_one_is_not() {
    for (length, is_taken) in [(19, false), (20, true), (256, true), (257, false)] {
        let chosen = Secret::new("k".repeat(length));
        let started = first_start::start(&World::default().platform, Some(&chosen)).await;
        assert_eq!(started.is_ok(), is_taken, "{length}");
    }
}

#[tokio::test]
async fn a_wrong_encryption_key_stops_the_start_with_a_clear_message() {
    let world = World::default();
    world.admin().await;
    let other = crate::vault::KeyRing::parse("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").unwrap();
    let parts = crate::Parts {
        store: world.store.clone(),
        sandbox: world.platform.sandbox.clone(),
        linker: world.platform.linker.clone(),
        outbound: world.platform.outbound.clone(),
        clock: world.platform.clock.clone(),
        entropy: world.platform.entropy.clone(),
        vault: crate::vault::Vault::new(other, world.platform.entropy.clone()),
        programs: crate::Programs::default(),
        config: world.platform.config.clone(),
    };

    let error = first_start::start(&crate::Platform::new(parts), None).await.unwrap_err();

    assert!(matches!(error, Error::Vault(crate::vault::VaultError::UnknownKey { .. })));
}

#[tokio::test]
async fn keys_are_stored_as_hashes_and_a_wrong_one_is_nobodys() {
    let (world, caller) = world().await;

    let stored = keys::list(&caller, &world.platform).await.unwrap();
    let wrong = authenticate(&world.platform, &Secret::new("ws_wrong".into())).await.unwrap();

    assert_eq!(stored[0].hash.len(), 64);
    assert!(!format!("{stored:?}").contains(caller.presented_key.expose()));
    assert!(wrong.is_none());
}

#[tokio::test]
async fn a_further_key_works_beside_the_first_and_a_revoked_one_does_not() {
    let (world, caller) = world().await;
    let further = keys::create(&caller, &world.platform).await.unwrap();
    let works = async |key: &Secret<String>| authenticate(&world.platform, key).await.unwrap().is_some();

    assert!(works(&further.key).await && works(&caller.presented_key).await);
    keys::revoke(&caller, &world.platform, &further.id).await.unwrap();

    assert!(!works(&further.key).await && works(&caller.presented_key).await);
}

#[tokio::test]
async fn nobody_locks_themselves_out() {
    let (world, admin) = world().await;
    let own_key = keys::list(&admin, &world.platform).await.unwrap()[0].id.clone();
    let demoted = UserChange { role: Some(Role::Member), plan: None };

    let key = keys::revoke(&admin, &world.platform, &own_key).await;
    let role = users::update(&admin, &world.platform, admin.user.id.as_str(), demoted).await;

    assert!(matches!(key, Err(Error::KeyInUse)));
    assert!(matches!(role, Err(Error::OwnRole)));
}

#[tokio::test]
async fn free_users_see_their_key_and_quotas_and_paid_users_their_billing_period() {
    let (world, caller) = world().await;
    let free = json!(users::me(&caller, &world.platform).await.unwrap());
    let plan = Plan::Paid { period_start_ms: 1_000, period_end_ms: 2_000, period_invocations: 0 };
    let change = UserChange { plan: Some(plan), role: None };

    users::update(&caller, &world.platform, caller.user.id.as_str(), change).await.unwrap();
    let caller = authenticate(&world.platform, &caller.presented_key).await.unwrap().unwrap();
    let paid = json!(users::me(&caller, &world.platform).await.unwrap());

    let fields = |me: &serde_json::Value| me.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(free["api_key"], json!(caller.presented_key));
    assert_eq!(fields(&free).len(), 8);
    assert_eq!(
        fields(&paid),
        ["id", "username", "email", "billing_period_start_ts", "billing_period_end_ts", "billing_period_invocations"]
    );
    assert_eq!(paid["billing_period_start_ts"], 1);
}

#[tokio::test]
async fn names_and_addresses_of_users_are_unique_whatever_their_case() {
    let (world, admin) = world().await;
    world.user(&admin, "somebody").await;
    let quotas = world.platform.config.default_quotas;
    let new = |username: &str, email: &str| NewUser {
        username: username.to_owned(),
        email: email.to_owned(),
        role: Role::Member,
        quotas,
    };

    let name = users::create(&admin, &world.platform, new("Somebody", "new@example.com")).await;
    let address = users::create(&admin, &world.platform, new("new", "SOMEBODY@example.com")).await;
    let freed = users::create(&admin, &world.platform, new("new", "new@example.com")).await;

    assert!(matches!(name, Err(Error::Taken { .. })) && matches!(address, Err(Error::Taken { .. })));
    freed.unwrap();
}

#[tokio::test]
async fn only_an_admin_may_use_the_operators_use_cases() {
    let (world, admin) = world().await;
    let member = world.user(&admin, "member").await;
    let platform = &world.platform;

    let refused = [
        users::list(&member, platform, &Default::default()).await.map(drop),
        users::find(&member, platform, admin.user.id.as_str()).await.map(drop),
        users::update(&member, platform, member.user.id.as_str(), UserChange::default()).await.map(drop),
        users::create_key(&member, platform, admin.user.id.as_str()).await.map(drop),
        crate::manage::apps::delete(&member, platform, "slack").await,
        crate::manage::registry::unpublish(&member, platform, "k").await,
    ];

    assert!(refused.iter().all(|result| matches!(result, Err(Error::NotAdmin))));
}
