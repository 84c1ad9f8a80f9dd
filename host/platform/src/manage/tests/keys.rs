//! Tests of keys.

use domain::keys::{KeyText, Scope, Scopes};
use domain::users::{Plan, Role};
use serde_json::json;

use super::world;
use crate::fake::World;
use crate::manage::first_start::{self, Started};
use crate::manage::keys::{self, KeyRequest, authenticate};
use crate::manage::users::{self, NewUser, UserChange};
use crate::{Caller, Error, KeyProblem, Secret};

#[tokio::test]
async fn the_first_start_makes_an_admin_and_the_second_makes_no_user() {
    let world = World::default();
    let Started::First(new) = first_start::start(&world.platform, None).await.unwrap() else {
        panic!("not the first start");
    };

    let caller = authenticate(&world.platform, &new.key).await.unwrap();

    assert_eq!(caller.user.role, Role::Admin);
    assert!(new.key.expose().starts_with("wsk_"));
    assert!(matches!(first_start::start(&world.platform, None).await.unwrap(), Started::Again));
}

#[tokio::test]
async fn a_chosen_key_is_the_key_of_the_first_account() {
    let world = World::default();
    let chosen = Secret::new("chosen-by-the-operator".to_owned());

    first_start::start(&world.platform, Some(&chosen)).await.unwrap();

    assert!(authenticate(&world.platform, &chosen).await.is_ok());
}

#[tokio::test]
async fn of_hosts_that_start_at_once_one_makes_the_key_that_counts() {
    for chosen in [None, Some(Secret::new("chosen-by-the-operator".to_owned()))] {
        let world = World::default();
        let Started::First(new) = first_start::start(&world.platform, chosen.as_ref()).await.unwrap() else {
            panic!("not the first start");
        };

        // Another one that had seen an empty store.
        let later = first_start::make_installation(&world.platform, chosen.as_ref()).await.unwrap();

        assert!(matches!(later, Started::Again));
        let caller = authenticate(&world.platform, &new.key).await.unwrap();
        assert_eq!(keys::list(&caller, &world.platform).await.unwrap().items.len(), 1);
    }
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
        relays: world.platform.relays.clone(),
        clock: world.platform.clock.clone(),
        entropy: world.platform.entropy.clone(),
        telemetry: None,
        vault: crate::vault::Vault::new(other, world.platform.entropy.clone()),
        programs: crate::Programs::default(),
        config: world.platform.config.clone(),
    };

    let error = first_start::start(&crate::Platform::new(parts), None).await.unwrap_err();

    assert!(matches!(error, Error::Vault(crate::vault::VaultError::UnknownKey { .. })));
}

#[tokio::test]
async fn keys_are_stored_as_hashes_and_a_wrong_one_has_no_user() {
    let (world, caller) = world().await;

    let stored = keys::list(&caller, &world.platform).await.unwrap().items;
    let wrong = authenticate(&world.platform, &Secret::new("ws_wrong".into())).await;

    assert_eq!(stored[0].hash.len(), 64);
    assert!(!format!("{stored:?}").contains(caller.presented_key.expose()));
    assert!(matches!(wrong, Err(Error::Unauthenticated(KeyProblem::Unknown))));
}

#[tokio::test]
async fn a_further_key_works_beside_the_first_and_a_revoked_one_does_not() {
    let (world, caller) = world().await;
    let further = keys::create(&caller, &world.platform, KeyRequest::default()).await.unwrap();
    let works = async |key: &Secret<String>| authenticate(&world.platform, key).await.is_ok();

    assert!(works(&further.key).await && works(&caller.presented_key).await);
    keys::revoke(&caller, &world.platform, &further.record.id).await.unwrap();

    assert!(!works(&further.key).await && works(&caller.presented_key).await);
}

#[tokio::test]
async fn a_caller_cannot_lock_themselves_out() {
    let (world, admin) = world().await;
    let own_key = keys::list(&admin, &world.platform).await.unwrap().items[0].id.clone();
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
    let caller = authenticate(&world.platform, &caller.presented_key).await.unwrap();
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
    world.user(&admin, "grace").await;
    let quotas = world.platform.config.default_quotas;
    let new = |username: &str, email: &str| NewUser {
        username: username.to_owned(),
        email: email.to_owned(),
        role: Role::Member,
        quotas,
    };

    let name = users::create(&admin, &world.platform, new("Grace", "new@example.com")).await;
    let address = users::create(&admin, &world.platform, new("new", "GRACE@example.com")).await;
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
        users::create_key(&member, platform, admin.user.id.as_str(), KeyRequest::default()).await.map(drop),
        crate::manage::apps::delete(&member, platform, "slack").await,
        crate::manage::registry::unpublish(&member, platform, "k").await,
    ];

    assert!(refused.iter().all(|result| matches!(result, Err(Error::NotAdmin))));
}

fn wish(scopes: &[&str]) -> KeyRequest {
    KeyRequest { scopes: Some(Scopes::parse(scopes.iter().copied()).unwrap()), ..KeyRequest::default() }
}

/// A key made by `caller`, and the caller that it authenticates.
async fn with_key(world: &World, caller: &Caller, wish: KeyRequest) -> Caller {
    let new = keys::create(caller, &world.platform, wish).await.unwrap();
    authenticate(&world.platform, &new.key).await.unwrap()
}

#[tokio::test]
async fn a_mistyped_key_is_told_from_an_unknown_one() {
    let (world, caller) = world().await;
    let mut mistyped = caller.presented_key.expose().clone();
    mistyped.pop();
    let unknown = KeyText::from_random([1; 16], [2; 32]).into_text();
    let ask = async |key: &str| authenticate(&world.platform, &Secret::new(key.to_owned())).await;

    assert!(matches!(ask(&mistyped).await, Err(Error::Unauthenticated(KeyProblem::Mistyped))));
    assert!(matches!(ask(&unknown).await, Err(Error::Unauthenticated(KeyProblem::Unknown))));
}

#[tokio::test]
async fn a_chosen_key_that_looks_mistyped_is_refused_before_it_locks_out() {
    let chosen = Secret::new("wsk_chosen-by-the-operator".to_owned());

    let started = first_start::start(&World::default().platform, Some(&chosen)).await;

    assert!(matches!(started, Err(Error::Parameter { name: "api_key", .. })));
}

#[tokio::test]
async fn a_key_makes_no_key_that_does_more_or_lives_longer_than_itself() {
    let (world, admin) = world().await;
    let now = world.platform.clock.now_seconds();
    let narrow = KeyRequest { expires_at: Some(now + 100), ..wish(&["write"]) };
    let narrow = with_key(&world, &admin, narrow).await;
    let create = async |caller: &Caller, wish: KeyRequest| keys::create(caller, &world.platform, wish).await;

    let inherited = create(&narrow, KeyRequest::default()).await.unwrap().record;
    let wider = create(&narrow, wish(&["deploy"])).await;
    let longer = create(&narrow, KeyRequest { expires_at: Some(now + 101), ..KeyRequest::default() }).await;
    let past = create(&admin, KeyRequest { expires_at: Some(now), ..KeyRequest::default() }).await;

    assert_eq!((inherited.scopes, inherited.expires_at), (wish(&["write"]).scopes, Some(now + 100)));
    assert!(matches!(wider, Err(Error::Scope { needs: Scope::Deploy })));
    assert!(matches!(longer, Err(Error::Parameter { name: "expires_at", .. })));
    assert!(matches!(past, Err(Error::Parameter { name: "expires_at", .. })));
    let member = world.user(&admin, "member").await;
    assert!(matches!(create(&member, wish(&["admin"])).await, Err(Error::NotAdmin)));
    create(&member, wish(&["read", "write", "deploy"])).await.unwrap();
}

#[tokio::test]
async fn a_key_neither_renames_nor_revokes_one_that_does_more() {
    let (world, admin) = world().await;
    let (writer, deployer) =
        (with_key(&world, &admin, wish(&["write"])).await, with_key(&world, &admin, wish(&["deploy"])).await);
    let id = |caller: &Caller| caller.key.clone().unwrap().id;
    let platform = &world.platform;

    let renamed = keys::rename(&writer, platform, &id(&deployer), Some("x".into())).await;
    let revoked = keys::revoke(&writer, platform, &id(&deployer)).await;
    let by_admin = keys::rename(&admin, platform, &id(&deployer), Some("ci".into())).await.unwrap();

    assert!(matches!(renamed, Err(Error::Scope { needs: Scope::Deploy })));
    assert!(matches!(revoked, Err(Error::Scope { needs: Scope::Deploy })));
    assert_eq!((by_admin.name.as_deref(), by_admin.scopes), (Some("ci"), wish(&["deploy"]).scopes));
    keys::revoke(&admin, platform, &id(&deployer)).await.unwrap();
}

#[tokio::test]
async fn a_key_without_every_scope_makes_no_admin() {
    let (world, admin) = world().await;
    let narrow = with_key(&world, &admin, wish(&["admin"])).await;
    let quotas = world.platform.config.default_quotas;
    let new = |name: &str, role| NewUser { username: name.into(), email: format!("{name}@example.com"), role, quotas };
    let promoted = UserChange { role: Some(Role::Admin), plan: None };

    let member = users::create(&narrow, &world.platform, new("ada", Role::Member)).await.unwrap().0;
    let made = users::create(&narrow, &world.platform, new("bob", Role::Admin)).await;
    let changed = users::update(&narrow, &world.platform, member.id.as_str(), promoted.clone()).await;
    let key = users::create_key(&narrow, &world.platform, admin.user.id.as_str(), wish(&["deploy"])).await;

    assert!(matches!(made, Err(Error::Scope { needs: Scope::Write })));
    assert!(matches!(changed, Err(Error::Scope { needs: Scope::Write })));
    assert!(matches!(key, Err(Error::Scope { needs: Scope::Deploy })));
    users::update(&admin, &world.platform, member.id.as_str(), promoted).await.unwrap();
}

#[tokio::test]
async fn an_expired_key_is_told_so_and_makes_room_for_new_ones() {
    let (world, caller) = world().await;
    let expires_at = Some(world.platform.clock.now_seconds() + 60);
    let create = async |expires_at| {
        keys::create(&caller, &world.platform, KeyRequest { expires_at, ..KeyRequest::default() }).await
    };
    let short = create(expires_at).await.unwrap();
    for _ in 2..20 {
        create(None).await.unwrap();
    }

    world.clock.advance(59_999);
    let before = authenticate(&world.platform, &short.key).await;
    let full = create(None).await;
    world.clock.advance(1);
    let after = authenticate(&world.platform, &short.key).await;

    assert!(before.is_ok() && matches!(full, Err(Error::TooMany { .. })));
    assert!(matches!(after, Err(Error::Unauthenticated(KeyProblem::Expired { .. }))));
    create(None).await.unwrap();
    assert!(matches!(
        authenticate(&world.platform, &short.key).await,
        Err(Error::Unauthenticated(KeyProblem::Unknown))
    ));
}

#[tokio::test]
async fn the_last_use_of_a_key_is_seen_at_once_and_stored_once_a_minute() {
    let (world, caller) = world().await;
    let used_at = async || keys::list(&caller, &world.platform).await.unwrap().items[0].last_used_at;
    let version = async || {
        let page = store::Page::newest(1);
        store::Reads::records(&*world.store, &caller.tenant, "api_key", page).await.unwrap().items[0].version
    };
    keys::record_uses(&world.platform).await;
    let (first, before) = (used_at().await, version().await);

    world.clock.advance(30_000);
    for _ in 0..5 {
        authenticate(&world.platform, &caller.presented_key).await.unwrap();
    }
    let (unwritten, seen) = (version().await, used_at().await);
    keys::record_uses(&world.platform).await;
    keys::record_uses(&world.platform).await;

    assert_eq!((seen, unwritten), (first.map(|at| at + 30), before));
    assert_eq!((used_at().await, version().await), (seen, before + 1));
}

#[tokio::test]
async fn uses_are_stored_every_minute_and_at_the_end() {
    let (world, caller) = world().await;
    let stored = async || {
        let id = caller.key.clone().unwrap().id;
        let found = crate::records::table::find::<crate::records::ApiKey>(
            &*world.store,
            &caller.tenant,
            store::Lookup::Id(&id),
        );
        found.await.unwrap().unwrap().record.last_used_at
    };
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(keys::run_record_uses(world.platform.clone(), stop.clone()));
    tokio::task::yield_now().await;

    world.clock.advance(59_999);
    tokio::task::yield_now().await;
    assert_eq!(stored().await, None);
    stop.cancel();
    running.await.unwrap();

    assert!(stored().await.is_some());
}

#[tokio::test]
async fn a_key_that_only_reads_sees_neither_itself_nor_an_endpoint() {
    let (world, admin) = world().await;
    let reader = with_key(&world, &admin, wish(&["read"])).await;
    let writer = with_key(&world, &admin, wish(&["write"])).await;
    let props = json!({"props": {"http": {"type": "$.interface.http"}}});
    let source = super::deploy(&world, &admin, &crate::fake::component("a", props), json!({})).await.unwrap();

    let shown = |caller: &Caller| {
        json!(crate::manage::sources::view(caller, &world.platform, source.clone()))["configured_props"].clone()
    };
    let me = json!(users::me(&reader, &world.platform).await.unwrap());

    assert_eq!(shown(&reader)["http"]["endpoint_url"], "********");
    assert!(shown(&writer)["http"]["endpoint_url"].as_str().unwrap().starts_with("https://"));
    assert_eq!(me.get("api_key"), None);
}
