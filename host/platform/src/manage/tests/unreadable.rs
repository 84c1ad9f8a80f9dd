//! What a newer version wrote, or what is damaged, is left out of every list and named there; the rest is shown.

use bytes::Bytes;
use domain::paging::PageQuery;
use serde_json::json;
use store::{Op, Page, Reads, Store};

use super::{deploy, world};
use crate::fake::{World, component};
use crate::manage::events::{self, EventQuery};
use crate::manage::runs::{self, RunQuery};
use crate::manage::{apps, keys, sessions, sources, subscriptions};
use crate::records::{ApiKey, App, AutoSubscription, Session, Source, Stored, Subscription, names};
use crate::{Caller, paging};

const NEWER: &[u8] = br#"{"v": 1000, "data": {"shape": "unknown"}}"#;
/// Half of a record.
const DAMAGED: &[u8] = br#"{"v": 1, "data": {"id": [[[[["#;
/// A form of records in bytes.
const NEWER_COMPACT: &[u8] = &[200, 1, 2, 3];
const DAMAGED_COMPACT: &[u8] = &[1, 255, 255];

async fn put(world: &World, caller: &Caller, kind: &str, value: &'static [u8]) {
    let tenant = if kind == App::KIND { names::operator() } else { caller.tenant.clone() };
    let newer = Op::PutRecord { kind: kind.into(), id: "new".into(), alias: None, value: value.into() };
    world.store.commit(world.platform.batch(&tenant).then(newer)).await.unwrap();
}

async fn append(world: &World, caller: &Caller, emitter: &str, stream: &str, value: &'static [u8]) -> String {
    let (emitter, stream) = (emitter.to_owned(), stream.to_owned());
    let newer = Op::Append { emitter, stream, value: Bytes::from_static(value), keep: 100 };
    let committed = world.store.commit(world.platform.batch(&caller.tenant).then(newer)).await.unwrap();
    committed.entries[0].to_string()
}

#[tokio::test]
async fn records_are_left_out_of_lists_and_named() {
    for unreadable in [NEWER, DAMAGED] {
        let (world, caller) = world().await;
        deploy(&world, &caller, &component("a", json!({})), json!({})).await.unwrap();
        for kind in [Source::KIND, ApiKey::KIND, Session::KIND, Subscription::KIND, AutoSubscription::KIND, App::KIND] {
            put(&world, &caller, kind, unreadable).await;
        }
        let platform = &world.platform;
        let new = vec!["new".to_owned()];

        let page = paging::page::<Source>(&caller.tenant, platform, &PageQuery::default()).await.unwrap();
        assert_eq!((page.items.len(), page.info.total_count, &page.info.unreadable), (1, 2, &new));
        let keys = keys::list(&caller, platform).await.unwrap();
        assert_eq!((keys.items.len(), &keys.unreadable), (1, &new));
        assert_eq!(sessions::list(&caller, platform).await.unwrap().unreadable, new);
        assert_eq!(subscriptions::list(&caller, platform).await.unwrap().unreadable, new);
        assert_eq!(subscriptions::list_auto(&caller, platform).await.unwrap().unreadable, new);
        let apps = apps::list(&caller, platform, &PageQuery::default()).await.unwrap();
        assert_eq!((apps.items.is_empty(), &apps.info.unreadable), (false, &new));
        let runs = runs::of_all(&caller, platform, &RunQuery::default()).await.unwrap();
        assert_eq!(runs.info.unreadable, new);
        // What decides about work does not pass over it.
        let autos = deploy(&world, &caller, &component("b", json!({})), json!({})).await;
        assert!(autos.is_err(), "an auto-subscription that cannot be read might have been for it");
        assert_eq!(world.store.records(&caller.tenant, Source::KIND, Page::newest(9)).await.unwrap().total, 2);
    }
}

#[tokio::test]
async fn entries_of_streams_are_left_out_of_lists_and_named() {
    for (json, compact) in [(NEWER, NEWER_COMPACT), (DAMAGED, DAMAGED_COMPACT)] {
        let (world, caller) = world().await;
        let source = deploy(&world, &caller, &component("a", json!({})), json!({})).await.unwrap();
        let id = source.id.as_str();
        let platform = &world.platform;
        sources::run(&caller, platform, id, json!(1)).await.unwrap();
        let event = append(&world, &caller, id, names::DEFAULT, json).await;
        let run = append(&world, &caller, id, names::RUNS, compact).await;
        sources::run(&caller, platform, id, json!(2)).await.unwrap();

        for is_expanded in [false, true] {
            let query =
                EventQuery { is_expanded, event_name: Some(names::DEFAULT.to_owned()), ..EventQuery::default() };
            let page = events::of_source(&caller, platform, id, &query).await.unwrap();
            assert_eq!((page.items.len(), &page.info.unreadable), (2, &vec![event.clone()]));
            assert_eq!(page.info.count, 3, "its cursors count it, so that paging goes past it");
        }
        let listed = runs::of_source(&caller, platform, id, &RunQuery::default()).await.unwrap();
        assert_eq!((listed.items.len(), &listed.info.unreadable), (2, &vec![run]));
        let found = runs::find(&caller, platform, listed.items[1].record.id.as_str()).await.unwrap();
        assert_eq!(found.record.id, listed.items[1].record.id, "it is found behind one that cannot be read");
    }
}
