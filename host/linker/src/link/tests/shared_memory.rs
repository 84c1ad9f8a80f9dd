//! What links that are under way at the same time keep in memory together.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;

use super::registry;
use crate::{
    Config, LimitKind, LinkError, Linker,
    testing::{FakeRegistry, config, entry},
};

/// Two packages of a hundred kilobytes.
fn heavy() -> Arc<FakeRegistry> {
    let registry = registry();
    let text = format!("module.exports = '{}'", "x".repeat(100_000));
    for name in ["a", "b"] {
        registry.publish(name, "1.0.0", &json!({}), &[("index.js", &text)]);
    }
    registry
}

#[tokio::test]
async fn links_that_need_more_than_their_share_take_turns_and_all_end() {
    let folder = tempfile::tempdir().unwrap();
    // A share is 200 KB. Both packages and what is linked of them are twice that.
    let config = Config { link_bytes: 800_000, max_concurrent_links: 2, ..config(folder.path()) };
    let linker = Linker::new(config, heavy());
    let component = entry("require('a'); require('b')");

    let linked = join_all((0..6).map(|_| linker.link(&component, &|_| {}))).await;

    assert!(linked.iter().all(Result::is_ok), "{linked:?}");
    assert_eq!(linker.memory_bytes(), (0, 800_000), "all of it is given back");
}

#[tokio::test]
async fn a_link_that_never_fits_is_refused_and_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let linker = Linker::new(Config { link_bytes: 300_000, ..config(folder.path()) }, heavy());

    let refused = linker.link(&entry("require('a'); require('b')"), &|_| {}).await;
    let small = linker.link(&entry("module.exports = 1"), &|_| {}).await;

    assert!(matches!(refused, Err(LinkError::OverLimit { kind: LimitKind::TotalBytes, .. })), "{refused:?}");
    assert!(small.is_ok());
    assert_eq!(linker.memory_bytes().0, 0);
}
