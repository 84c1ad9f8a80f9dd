//! Records: versions, order, aliases, preconditions.

use super::{World, text};
use crate::{At, CommitError, Lookup, MAX_PAGE, Op, Page, Precondition};

fn put(id: &str, alias: Option<&str>, value: &str) -> Op {
    Op::PutRecord { kind: "source".into(), id: id.into(), alias: alias.map(Into::into), value: text(value) }
}

fn delete(id: &str) -> Op {
    Op::DeleteRecord { kind: "source".into(), id: id.into() }
}

async fn by_alias(world: &World, alias: &str) -> Option<String> {
    let found = world.store.record(&world.tenant, "source", Lookup::Alias(alias)).await.unwrap();
    found.map(|record| record.id)
}

async fn ids(world: &World, page: Page) -> Vec<String> {
    let found = world.store.records(&world.tenant, "source", page).await.unwrap();
    found.items.into_iter().map(|record| record.id).collect()
}

pub(crate) async fn a_record_is_created_replaced_and_deleted(world: World) {
    let read = || world.store.record(&world.tenant, "source", Lookup::Id("a"));

    assert_eq!(read().await.unwrap(), None);
    assert_eq!(world.commit(vec![put("a", None, "one")]).await.versions, [1]);
    let first = read().await.unwrap().unwrap();
    assert_eq!(world.commit(vec![put("a", None, "two"), put("a", None, "three")]).await.versions, [2, 3]);
    let third = read().await.unwrap().unwrap();
    assert_eq!((first.version, first.value), (1, text("one")));
    assert_eq!((third.version, third.value, third.position), (3, text("three"), first.position));

    world.commit(vec![delete("a"), delete("never")]).await;
    assert_eq!(read().await.unwrap(), None);
    assert_eq!(world.commit(vec![put("a", None, "new")]).await.versions, [1]);
}

pub(crate) async fn lists_are_newest_first_and_page_both_ways(world: World) {
    world.commit(["a", "b", "c", "d", "e"].map(|id| put(id, None, id)).to_vec()).await;
    world.commit(vec![put("b", None, "replaced, not moved")]).await;
    let all = world.store.records(&world.tenant, "source", Page::newest(10)).await.unwrap();
    let position = |id: &str| all.items.iter().find(|record| record.id == id).map(|record| record.position);

    assert_eq!(all.total, 5);
    assert_eq!(ids(&world, Page::newest(2)).await, ["e", "d"]);
    assert_eq!(ids(&world, Page { after: position("d"), before: None, limit: 2 }).await, ["c", "b"]);
    assert_eq!(ids(&world, Page { after: None, before: position("b"), limit: 2 }).await, ["d", "c"]);
    assert_eq!(ids(&world, Page { after: position("e"), before: position("b"), limit: 9 }).await, ["d", "c"]);
    assert_eq!(ids(&world, Page { after: position("a"), before: None, limit: 2 }).await, Vec::<String>::new());

    world.commit(vec![delete("c")]).await;
    assert_eq!(ids(&world, Page { after: position("c"), before: None, limit: 1 }).await, ["b"]);
    let unknown = world.store.records(&world.tenant, "webhook", Page::newest(10)).await.unwrap();
    assert_eq!((unknown.total, unknown.items), (0, vec![]));
}

pub(crate) async fn a_page_holds_at_most_a_thousand_records(world: World) {
    let many = MAX_PAGE as usize + 1;
    world.commit((0..many).map(|n| put(&n.to_string(), None, "")).collect()).await;

    assert_eq!(ids(&world, Page::newest(u32::MAX)).await.len(), many - 1);
    assert_eq!(ids(&world, Page::newest(0)).await.len(), 0);
}

pub(crate) async fn an_alias_belongs_to_one_record_at_a_time(world: World) {
    world.commit(vec![put("a", Some("slug"), "")]).await;

    let taken = world.try_commit(1, vec![], vec![put("b", Some("slug"), "")]).await;

    assert!(matches!(taken, Err(CommitError::Conflict { at: At::Operation(0) })), "{taken:?}");
    assert_eq!(by_alias(&world, "slug").await.as_deref(), Some("a"));
    world.commit(vec![put("a", Some("other"), "")]).await;
    assert_eq!(by_alias(&world, "slug").await, None);
    assert_eq!(by_alias(&world, "other").await.as_deref(), Some("a"));
    world.commit(vec![delete("a")]).await;
    assert_eq!(by_alias(&world, "other").await, None);
    world.commit(vec![put("b", Some("other"), "")]).await;
    assert_eq!(by_alias(&world, "other").await.as_deref(), Some("b"));
}

pub(crate) async fn an_alias_moves_within_one_batch(world: World) {
    world.commit(vec![put("a", Some("slug"), "")]).await;

    world.commit(vec![put("a", None, ""), put("b", Some("slug"), "")]).await;
    assert_eq!(by_alias(&world, "slug").await.as_deref(), Some("b"));
    world.commit(vec![delete("b"), put("c", Some("slug"), "")]).await;
    assert_eq!(by_alias(&world, "slug").await.as_deref(), Some("c"));
    let twice = world.try_commit(1, vec![], vec![put("d", Some("new"), ""), put("e", Some("new"), "")]).await;

    assert!(matches!(twice, Err(CommitError::Conflict { at: At::Operation(1) })), "{twice:?}");
    assert_eq!(by_alias(&world, "new").await, None);
}

pub(crate) async fn preconditions_name_the_one_that_does_not_hold(world: World) {
    let kind = || "source".to_owned();
    let holds = vec![
        Precondition::RecordVersion { kind: kind(), id: "a".into(), version: 1 },
        Precondition::RecordAbsent { kind: kind(), id: "b".into() },
        Precondition::AliasFree { kind: kind(), alias: "free".into() },
    ];
    let fails = [
        Precondition::RecordVersion { kind: kind(), id: "a".into(), version: 2 },
        Precondition::RecordVersion { kind: kind(), id: "b".into(), version: 1 },
        Precondition::RecordAbsent { kind: kind(), id: "a".into() },
        Precondition::AliasFree { kind: kind(), alias: "slug".into() },
    ];
    world.commit(vec![put("a", Some("slug"), "")]).await;

    assert!(world.try_commit(1, holds.clone(), vec![]).await.is_ok());
    for failing in fails {
        let mut preconditions = holds.clone();
        preconditions.push(failing);
        let refused = world.try_commit(1, preconditions, vec![put("x", None, "")]).await;
        assert!(matches!(refused, Err(CommitError::Conflict { at: At::Precondition(3) })), "{refused:?}");
    }
    assert_eq!(ids(&world, Page::newest(9)).await, ["a"]);
}

pub(crate) async fn a_list_is_as_it_was_until_a_record_is_added_or_deleted(world: World) {
    let list = async |world: &World| {
        let listed = world.store.records(&world.tenant, "source", Page::newest(1)).await.unwrap();
        let newest = listed.items.first().map(|record| record.position);
        Precondition::ListIs { kind: "source".to_owned(), newest, total: listed.total }
    };
    let empty = list(&world).await;
    assert_eq!(empty, Precondition::ListIs { kind: "source".into(), newest: None, total: 0 });
    let holds = async |list: &Precondition| match world.try_commit(1, vec![list.clone()], vec![]).await {
        Ok(_) => true,
        Err(CommitError::Conflict { at: At::Precondition(0) }) => false,
        Err(other) => panic!("{other:?}"),
    };
    assert!(holds(&empty).await);

    world.commit(vec![put("a", None, ""), put("b", None, "")]).await;
    let two = list(&world).await;
    assert!(!holds(&empty).await && holds(&two).await);
    world.commit(vec![put("a", None, "again")]).await;
    assert!(holds(&two).await, "the same records, in the same order");
    // As many as before, and others.
    world.commit(vec![delete("b"), put("c", None, "")]).await;
    let others = list(&world).await;
    assert!(!holds(&two).await && holds(&others).await);
    world.commit(vec![delete("a")]).await;
    assert!(!holds(&others).await && holds(&list(&world).await).await);
}

pub(crate) async fn nothing_of_another_tenant_is_ever_seen(world: World) {
    world.commit(vec![put("a", Some("slug"), "")]).await;
    let other = &world.neighbour;

    assert_eq!(world.store.record(other, "source", Lookup::Id("a")).await.unwrap(), None);
    assert_eq!(world.store.record(other, "source", Lookup::Alias("slug")).await.unwrap(), None);
    assert_eq!(world.store.records(other, "source", Page::newest(9)).await.unwrap().total, 0);
}
