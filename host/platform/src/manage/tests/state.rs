//! Tests of a source's `db`, as people see and change it.

use domain::paging::Limit;
use serde_json::{Value, json};

use super::{deploy, world};
use crate::Error;
use crate::fake::{component, returned};
use crate::manage::{sources, state};
use crate::ports::{Outcome, Write};

#[tokio::test]
async fn what_a_run_stored_is_listed_read_changed_and_cleared() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("stores", json!({})), json!({})).await.unwrap();
    let (platform, id) = (&world.platform, source.id.as_str());
    world.sandbox.script("stores", |_| {
        let write = |key: &str| Write { key: key.into(), value: Some("[1]".into()) };
        Outcome { writes: vec![write("b"), write(""), write("a/b")], ..returned(&Value::Null) }
    });
    sources::run(&caller, platform, id, json!({})).await.unwrap();
    let keys = async || {
        let page = state::list(&caller, platform, id, None, Limit::default()).await.unwrap();
        page.items.into_iter().map(|item| item.key).collect::<Vec<_>>()
    };

    assert_eq!(keys().await, ["", "a/b", "b"]);
    assert_eq!(state::get(&caller, platform, id, "").await.unwrap().value, json!([1]));
    state::set(&caller, platform, id, "b", json!({"n": 2})).await.unwrap();
    assert_eq!(state::get(&caller, platform, id, "b").await.unwrap().value, json!({"n": 2}));
    state::remove(&caller, platform, id, "a/b").await.unwrap();
    assert_eq!(keys().await, ["", "b"]);
    state::clear(&caller, platform, id).await.unwrap();
    assert_eq!(keys().await, [""; 0]);
    assert!(matches!(state::get(&caller, platform, id, "b").await, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn values_have_the_limits_of_runs_and_belong_to_one_account() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("stores", json!({})), json!({})).await.unwrap();
    let (platform, id) = (&world.platform, source.id.as_str());
    let limits = platform.config.limits.clone();
    let text = |length: usize| json!("x".repeat(length - 2));

    state::set(&caller, platform, id, &"k".repeat(limits.db_key_bytes), text(limits.db_value_bytes)).await.unwrap();
    let long_key = state::set(&caller, platform, id, &"k".repeat(limits.db_key_bytes + 1), json!(1)).await;
    let long_value = state::set(&caller, platform, id, "k", text(limits.db_value_bytes + 1)).await;
    let ada = world.user(&caller, "ada").await;

    assert_eq!(long_key.unwrap_err().to_string(), "`key`: has at most 1024 bytes, this one has 1025");
    assert_eq!(long_value.unwrap_err().to_string(), "`value`: has at most 65536 bytes, this one has 65537");
    assert!(matches!(state::get(&ada, platform, id, "k").await, Err(Error::NotFound { .. })));
    assert!(matches!(state::clear(&ada, platform, id).await, Err(Error::NotFound { .. })));
}
