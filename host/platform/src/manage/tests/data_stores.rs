//! Tests of data stores, as people use them.

use domain::paging::{Limit, PageQuery};
use serde_json::{Value, json};
use store::Reads;

use super::{deploy, world};
use crate::fake::{World, component};
use crate::manage::data_stores::{self, RecordKeyView};
use crate::manage::{chores, sources};
use crate::ports::Progress;
use crate::records::{Job, names};
use crate::{Caller, Error};

async fn keys(world: &World, caller: &Caller, store: &str) -> Vec<String> {
    let page = data_stores::records(caller, &world.platform, store, None, Limit::default()).await.unwrap();
    page.items.into_iter().map(|RecordKeyView { key, .. }| key).collect()
}

#[tokio::test]
async fn a_record_with_a_time_to_live_is_gone_when_it_is_over_and_removed_later() {
    let (world, admin) = world().await;
    let platform = &world.platform;
    let store = data_stores::create(&admin, platform, "orders").await.unwrap();
    data_stores::set(&admin, platform, "orders", "brief", json!(1), Some(60)).await.unwrap();
    data_stores::set(&admin, platform, store.id.as_str(), "stays", json!({"a": [1]}), None).await.unwrap();

    world.clock.advance(59_999);
    assert_eq!(data_stores::get(&admin, platform, "orders", "brief").await.unwrap().value, json!(1));
    world.clock.advance(1);

    assert!(matches!(data_stores::get(&admin, platform, "orders", "brief").await, Err(Error::NotFound { .. })));
    assert_eq!(keys(&world, &admin, "orders").await, ["stays"]);
    let scope = names::data_store(store.id.as_str());
    assert_eq!(world.store.keys(&admin.tenant, &scope, None, 10).await.unwrap().total, 2, "it is still there");
    crate::data_stores::remove_expired(platform, &admin.tenant, &store.id).await.unwrap();
    assert_eq!(world.store.keys(&admin.tenant, &scope, None, 10).await.unwrap().total, 1);
}

#[tokio::test]
async fn names_are_taken_once_and_an_account_has_so_many_data_stores() {
    let world = World::new(|config| config.shares.data_stores = 2);
    let admin = world.admin().await;
    let platform = &world.platform;
    let first = data_stores::create(&admin, platform, " orders ").await.unwrap();

    let taken = data_stores::create(&admin, platform, "orders").await;
    data_stores::create(&admin, platform, "second").await.unwrap();
    let third = data_stores::create(&admin, platform, "third").await;

    assert_eq!(first.name, "orders");
    assert!(matches!(taken, Err(Error::Taken { .. })), "{taken:?}");
    assert!(matches!(third, Err(Error::TooMany { limit: 2, .. })), "{third:?}");
    assert_eq!(data_stores::list(&admin, platform, &PageQuery::default()).await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn keys_values_and_the_whole_store_are_bounded() {
    let world = World::new(|config| {
        config.limits.db_key_bytes = 32;
        config.limits.db_value_bytes = 20;
        config.limits.data_store_bytes = 40;
    });
    let admin = world.admin().await;
    let platform = &world.platform;
    data_stores::create(&admin, platform, "s").await.unwrap();
    let set = async |key: &str, value: Value| data_stores::set(&admin, platform, "s", key, value, None).await;

    // 22 of the 32 bytes say which store it is; `{"v":"…"}` is 8 bytes more than the text.
    let said = |refused: Result<data_stores::RecordView, Error>| refused.unwrap_err().to_string();
    assert!(set("k123456789", json!(1)).await.is_ok());
    assert_eq!(said(set("k1234567890", json!(1)).await), "`key`: has at most 10 bytes, this one has 11");
    assert!(set("a", json!("x".repeat(12))).await.is_ok());
    assert_eq!(said(set("a", json!("x".repeat(13))).await), "`value`: has at most 14 bytes, this one has 15");
    assert_eq!(
        said(set("b", json!("x".repeat(12))).await),
        "`value`: does not fit: with it, 59 bytes would be stored there, keys and values together, and 40 may be"
    );
    for ttl in [0, 366 * 86_400 + 1] {
        let refused = data_stores::set(&admin, platform, "s", "a", json!(1), Some(ttl)).await;
        assert!(matches!(refused, Err(Error::Parameter { name: "ttl_seconds", .. })), "{ttl}");
    }
}

#[tokio::test]
async fn what_is_over_makes_room_in_a_full_data_store() {
    let world = World::new(|config| config.limits.data_store_bytes = 75);
    let admin = world.admin().await;
    let platform = &world.platform;
    let store = data_stores::create(&admin, platform, "s").await.unwrap();
    let set = async |key: &str, ttl: Option<u64>| data_stores::set(&admin, platform, "s", key, json!("x"), ttl).await;

    for key in ["a", "b"] {
        set(key, Some(60)).await.unwrap();
    }
    set("stays", None).await.unwrap();
    world.clock.advance(59_999);
    assert!(matches!(set("c", None).await, Err(Error::Parameter { name: "value", .. })), "75 in all");
    world.clock.advance(999);
    let at_once = set("c", None).await;
    world.clock.advance(1);
    set("c", None).await.unwrap();

    assert!(matches!(at_once, Err(Error::Parameter { name: "value", .. })), "it is looked through once a second");

    assert_eq!(keys(&world, &admin, "s").await, ["c", "stays"]);
    let scope = names::data_store(store.id.as_str());
    assert_eq!(world.store.keys(&admin.tenant, &scope, None, 10).await.unwrap().total, 2, "what is over is removed");
}

/// All of an account are looked through once a minute.
#[tokio::test]
async fn what_is_over_does_not_count_for_what_an_account_keeps() {
    for (later_ms, has_room) in [(59_999, false), (60_000, true)] {
        let world = World::new(|config| config.shares.stored_bytes = 100_000);
        let admin = world.admin().await;
        let platform = &world.platform;
        data_stores::create(&admin, platform, "s").await.unwrap();
        for key in ["a", "b", "c"] {
            data_stores::set(&admin, platform, "s", key, json!("x".repeat(40_000)), Some(30)).await.unwrap();
        }

        let full = platform.check_room(&admin.tenant).await;
        world.clock.advance(later_ms);
        let later = platform.check_room(&admin.tenant).await;

        assert!(matches!(full, Err(Error::NoRoom { limit_bytes: 100_000 })));
        assert_eq!(later.is_ok(), has_room, "{later_ms}");
        assert_eq!(world.store.stored_bytes(&admin.tenant).await.unwrap() < 100_000, has_room);
    }
}

#[tokio::test]
async fn a_data_store_in_use_is_deleted_by_force_only_and_leaves_nothing_behind() {
    let (world, admin) = world().await;
    let platform = &world.platform;
    let store = data_stores::create(&admin, platform, "orders").await.unwrap();
    data_stores::set(&admin, platform, "orders", "k", json!(1), None).await.unwrap();
    let described = component("uses", json!({"props": {"store": "data_store"}}));
    let source = deploy(&world, &admin, &described, json!({"store": "orders"})).await.unwrap();
    assert_eq!(source.revision.props["store"], json!(store.id), "the id, so that it is found by it");

    let Err(Error::InUse { used_by, .. }) = data_stores::delete(&admin, platform, "orders", false).await else {
        panic!("it is used");
    };
    assert_eq!(used_by[0].id, source.id.to_string());
    sources::delete(&admin, platform, source.id.as_str(), true).await.unwrap();
    data_stores::delete(&admin, platform, "orders", false).await.unwrap();

    assert!(matches!(data_stores::find(&admin, platform, "orders").await, Err(Error::NotFound { .. })));
    let job = Job::ForgetDataStore { data_store: store.id.clone() };
    while chores::perform(&admin.tenant, platform, &job).await.unwrap() == Progress::More {}
    let scope = names::data_store(store.id.as_str());
    assert_eq!(world.store.keys(&admin.tenant, &scope, None, 10).await.unwrap().total, 0);
}
