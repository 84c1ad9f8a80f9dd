//! Tests of events.

use domain::paging::Limit;
use serde_json::{Value, json};
use store::{Op, Store};

use super::{deploy, world};
use crate::fake::{World, component, emit, emit_with, log, returned, threw};
use crate::manage::events::{self, DeleteEvents, EventQuery};
use crate::manage::{logs, sources};
use crate::ports::Outcome;
use crate::{Caller, Error};

/// A source that has emitted the numbers up to `count`, one per millisecond.
async fn counted(world: &World, caller: &Caller, count: u64) -> String {
    let source = deploy(world, caller, &component("counts", json!({})), json!({})).await.unwrap();
    for number in 1..=count {
        world.clock.advance(1);
        sources::run(caller, &world.platform, source.id.as_str(), json!(number)).await.unwrap();
    }
    source.id.to_string()
}

async fn read(world: &World, caller: &Caller, id: &str, query: EventQuery) -> Vec<Value> {
    let page = events::of_source(caller, &world.platform, id, &query).await.unwrap();
    page.items.into_iter().map(|summary| summary.event).collect()
}

async fn ids(world: &World, caller: &Caller, id: &str) -> Vec<String> {
    let query = EventQuery { limit: Limit::parse_text("100").unwrap(), ..EventQuery::default() };
    let page = events::of_source(caller, &world.platform, id, &query).await.unwrap();
    page.items.into_iter().rev().map(|summary| summary.id).collect()
}

async fn left(world: &World, caller: &Caller, id: &str) -> Vec<Value> {
    let query = EventQuery { limit: Limit::parse_text("100").unwrap(), ..EventQuery::default() };
    let mut left = read(world, caller, id, query).await;
    left.reverse();
    left
}

/// Which of five events are left after deleting a range given by their numbers.
async fn after_deleting(start: Option<usize>, end: Option<usize>) -> Vec<Value> {
    let (world, caller) = world().await;
    let id = counted(&world, &caller, 5).await;
    let ids = ids(&world, &caller, &id).await;
    let of = |number: Option<usize>| number.map(|number| ids[number - 1].clone());

    let request = DeleteEvents { start_id: of(start), end_id: of(end), event_name: None };
    events::delete(&caller, &world.platform, &id, &request).await.unwrap();

    left(&world, &caller, &id).await
}

#[tokio::test]
async fn streams_are_listed_with_what_is_kept_of_them_also_when_that_is_nothing() {
    let (world, caller) = world().await;
    let id = counted(&world, &caller, 2).await;
    let listed = async || {
        let streams = events::streams(&caller, &world.platform, &id).await.unwrap();
        streams.into_iter().map(|stream| (stream.name, stream.events)).collect::<Vec<_>>()
    };
    let mut batch = world.platform.batch(&caller.tenant);
    let append = |stream: String| Op::Append { emitter: id.clone(), stream, value: "{}".into(), keep: 1 };
    batch.operations = (0..1001).map(|number| append(format!("channel-{number:04}"))).collect();

    let before = listed().await;
    world.store.commit(batch).await.unwrap();
    let after = listed().await;
    let request = DeleteEvents { event_name: Some("channel-0007".into()), ..DeleteEvents::default() };
    events::delete(&caller, &world.platform, &id, &request).await.unwrap();

    assert_eq!(before, [("default".into(), 2), ("$errors".into(), 0), ("$logs".into(), 0)]);
    assert_eq!((after.len(), after[1].clone()), (1003, ("channel-0000".into(), 1)));
    assert_eq!(after[1000..], [("channel-0999".into(), 1), ("$errors".into(), 0), ("$logs".into(), 0)]);
    assert_eq!(listed().await[8], ("channel-0007".into(), 0), "its events are gone, and it is known");
}

#[tokio::test]
async fn deleting_with_neither_id_deletes_all_events() {
    assert_eq!(after_deleting(None, None).await, Vec::<Value>::new());
}

#[tokio::test]
async fn deleting_with_only_a_start_deletes_from_it_to_the_newest() {
    assert_eq!(after_deleting(Some(4), None).await, [1, 2, 3]);
}

#[tokio::test]
async fn deleting_with_only_an_end_deletes_from_the_oldest_to_it() {
    assert_eq!(after_deleting(None, Some(2)).await, [3, 4, 5]);
}

#[tokio::test]
async fn deleting_with_both_deletes_the_inclusive_range() {
    assert_eq!(after_deleting(Some(2), Some(4)).await, [1, 5]);
}

#[tokio::test]
async fn deleting_with_the_same_id_twice_deletes_that_event() {
    assert_eq!(after_deleting(Some(3), Some(3)).await, [1, 2, 4, 5]);
}

#[tokio::test]
async fn event_ids_are_milliseconds_and_sequence_and_order_events_by_emission_time() {
    let (world, caller) = world().await;
    let id = counted(&world, &caller, 3).await;

    let ids = ids(&world, &caller, &id).await;

    assert_eq!(ids, ["1750593600001-0", "1750593600002-0", "1750593600003-0"]);
}

#[tokio::test]
async fn a_limit_returns_the_last_events_and_the_default_is_ten() {
    let (world, caller) = world().await;
    let id = counted(&world, &caller, 12).await;

    let three = EventQuery { limit: Limit::parse_text("3").unwrap(), ..EventQuery::default() };
    let three = read(&world, &caller, &id, three).await;
    let ten = read(&world, &caller, &id, EventQuery::default()).await;

    assert_eq!(three, [12, 11, 10]);
    assert_eq!(ten.len(), 10);
}

#[tokio::test]
async fn only_the_last_hundred_events_of_a_stream_are_kept() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("burst", json!({})), json!({})).await.unwrap();
    let burst =
        |count: u64| Outcome { emits: (1..=count).map(|n| emit(&json!(n))).collect(), ..returned(&Value::Null) };
    world.sandbox.script("burst", move |call| burst(call["event"].as_u64().unwrap()));
    let id = source.id.as_str();

    sources::run(&caller, &world.platform, id, json!(100)).await.unwrap();
    let full = left(&world, &caller, id).await;
    sources::run(&caller, &world.platform, id, json!(1)).await.unwrap();
    let moved_on = left(&world, &caller, id).await;

    assert_eq!((full.len(), &full[0]), (100, &json!(1)));
    assert_eq!((moved_on.len(), &moved_on[0]), (100, &json!(2)));
}

#[tokio::test]
async fn walking_forth_and_back_shows_the_same_pages() {
    let (world, caller) = world().await;
    let id = counted(&world, &caller, 5).await;
    let two = Limit::parse_text("2").unwrap();
    let page = async |after: Option<String>, before: Option<String>| {
        let query = EventQuery { limit: two, after, before, ..EventQuery::default() };
        events::of_source(&caller, &world.platform, &id, &query).await.unwrap()
    };
    let shown = |page: &crate::paging::PageOf<events::EventSummary>| {
        page.items.iter().map(|item| item.event.as_u64().unwrap()).collect::<Vec<_>>()
    };

    let first = page(None, None).await;
    let second = page(first.info.end_cursor.clone(), None).await;
    let third = page(second.info.end_cursor.clone(), None).await;
    let beyond = page(third.info.end_cursor.clone(), None).await;
    let back = page(None, third.info.start_cursor.clone()).await;

    assert_eq!((shown(&first), shown(&second), shown(&third)), (vec![5, 4], vec![3, 2], vec![1]));
    assert_eq!((beyond.info.start_cursor, beyond.info.end_cursor, beyond.info.count), (None, None, 0));
    assert_eq!(shown(&back), [3, 2]);
}

#[tokio::test]
async fn large_events_are_cut_unless_they_are_expanded() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("large", json!({})), json!({})).await.unwrap();
    let large = json!({"text": "x".repeat(2000)});
    sources::run(&caller, &world.platform, source.id.as_str(), large.clone()).await.unwrap();
    let page = async |is_expanded| {
        let query = EventQuery { is_expanded, ..EventQuery::default() };
        events::of_source(&caller, &world.platform, source.id.as_str(), &query).await.unwrap().items.remove(0)
    };

    let (cut, whole) = (page(false).await, page(true).await);

    assert!(cut.event.to_string().len() <= 1024 && cut.event_truncated == Some(true));
    assert_eq!((whole.event, whole.event_truncated), (large, None));
}

/// Walks to the end, in pages of at most `limit` expanded events; how many each page had.
async fn pages(world: &World, caller: &Caller, id: &str, limit: &str) -> Vec<usize> {
    let mut query = EventQuery { limit: Limit::parse_text(limit).unwrap(), is_expanded: true, ..EventQuery::default() };
    let mut pages = Vec::new();
    loop {
        let page = events::of_source(caller, &world.platform, id, &query).await.unwrap();
        let Some(last) = page.items.last() else {
            return pages;
        };
        pages.push(page.items.len());
        query.after = Some(last.id.clone());
    }
}

#[tokio::test]
async fn a_page_of_large_events_ends_early_and_the_next_one_goes_on() {
    let (world, caller) = world().await;
    world.sandbox.script("large", |call| {
        let large = emit_with(&json!("x".repeat(3 << 20)), json!({"name": call["event"]}));
        Outcome { emits: vec![large], ..returned(&json!(null)) }
    });
    let source = deploy(&world, &caller, &component("large", json!({})), json!({})).await.unwrap();
    for number in 0..12 {
        world.clock.advance(1);
        let channel = json!(format!("channel {}", number % 3));
        sources::run(&caller, &world.platform, source.id.as_str(), channel).await.unwrap();
    }

    assert_eq!(pages(&world, &caller, source.id.as_str(), "100").await, [5, 5, 2]);
}

#[tokio::test]
async fn a_page_is_put_together_from_more_than_is_read_at_once() {
    let (world, caller) = world().await;
    world.sandbox.script("many", |_| {
        let emits = (0..40).map(|number| emit_with(&json!(number), json!({"name": format!("{}", number % 2)})));
        Outcome { emits: emits.collect(), ..returned(&json!(null)) }
    });
    let source = deploy(&world, &caller, &component("many", json!({})), json!({})).await.unwrap();
    sources::run(&caller, &world.platform, source.id.as_str(), json!(null)).await.unwrap();

    assert_eq!(pages(&world, &caller, source.id.as_str(), "100").await, [40]);
    assert_eq!(pages(&world, &caller, source.id.as_str(), "17").await, [17, 17, 6]);
    let newest = EventQuery { limit: Limit::parse_text("3").unwrap(), ..EventQuery::default() };
    assert_eq!(read(&world, &caller, source.id.as_str(), newest).await, [json!(39), json!(38), json!(37)]);
}

#[tokio::test]
async fn channels_are_listed_together_and_read_alone_by_their_name() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("two", json!({})), json!({})).await.unwrap();
    world.sandbox.script("two", |_| Outcome {
        emits: vec![emit(&json!("a")), emit_with(&json!("b"), json!({"name": "other", "summary": "B", "id": 7}))],
        ..returned(&Value::Null)
    });
    sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();
    let named = |name: &str| EventQuery { event_name: Some(name.to_owned()), ..EventQuery::default() };

    let all = events::of_source(&caller, &world.platform, source.id.as_str(), &EventQuery::default()).await.unwrap();
    let other = read(&world, &caller, source.id.as_str(), named("other")).await;
    let default = read(&world, &caller, source.id.as_str(), named("default")).await;

    let names: Vec<_> = all.items.iter().map(|item| item.metadata.name.as_str()).collect();
    assert_eq!(names, ["other", ""]);
    assert_eq!((all.items[0].metadata.summary.as_deref(), all.items[0].metadata.id.as_deref()), (Some("B"), Some("7")));
    assert_eq!((other, default), (vec![json!("b")], vec![json!("a")]));
}

#[tokio::test]
async fn a_thrown_exception_becomes_an_event_of_errors_and_a_line_of_the_log() {
    let (world, caller) = world().await;
    let source = deploy(&world, &caller, &component("throws", json!({})), json!({})).await.unwrap();
    world.sandbox.script("throws", |_| Outcome { logs: vec![log("before")], ..threw("boom") });

    let run = sources::run(&caller, &world.platform, source.id.as_str(), json!({"n": 1})).await.unwrap();

    let errors = EventQuery { event_name: Some("$errors".into()), ..EventQuery::default() };
    let errors = read(&world, &caller, source.id.as_str(), errors).await;
    let lines = logs::of_source(&caller, &world.platform, source.id.as_str(), EventQuery::default()).await.unwrap();
    assert!(!run.ok);
    assert_eq!(errors[0]["error"]["message"], "boom");
    assert_eq!(errors[0]["original_event"], json!({"n": 1}));
    assert_eq!(errors[0]["error"]["ts"], "2025-06-22T12:00:00Z");
    let messages: Vec<_> = lines.items.iter().map(|line| line.line["message"].as_str().unwrap()).collect();
    assert_eq!(messages[1], "before");
    assert!(messages[0].starts_with("Error: boom\n    at run"));
}

#[tokio::test]
async fn ids_that_are_none_are_refused() {
    let (world, caller) = world().await;
    let id = counted(&world, &caller, 1).await;

    for text in ["", "1", "a-b", "1-1-1", "-1-0", "99999999999999999999-0", "1-1048576"] {
        let request = DeleteEvents { start_id: Some(text.to_owned()), ..DeleteEvents::default() };
        let error = events::delete(&caller, &world.platform, &id, &request).await.unwrap_err();
        assert!(matches!(error, Error::Parameter { name: "start_id", .. }), "{text}: {error}");
    }
    assert_eq!(left(&world, &caller, &id).await.len(), 1);
}

#[tokio::test]
async fn a_deletion_too_large_for_one_batch_is_finished_by_a_chore() {
    let world = World::new(|config| config.limits.events_kept = 3000);
    let caller = world.admin().await;
    let source = deploy(&world, &caller, &component("burst", json!({})), json!({})).await.unwrap();
    let emits = || (0..2500).map(|n| emit(&json!(n))).collect();
    world.sandbox.script("burst", move |_| Outcome { emits: emits(), ..returned(&Value::Null) });
    sources::run(&caller, &world.platform, source.id.as_str(), json!({})).await.unwrap();

    events::delete(&caller, &world.platform, source.id.as_str(), &DeleteEvents::default()).await.unwrap();
    let partitions = store::Partition::all(store::PARTITIONS);
    let request = store::LeaseRequest { now_ms: world.platform.clock.now_ms(), lease_ms: 1000, max: 10 };
    let jobs =
        store::Work::lease_jobs(&*world.store, &partitions, request, store::Shares::default()).await.unwrap().items;
    let job = crate::records::Job::decode(&jobs[0].payload).unwrap();
    use crate::manage::chores::perform;
    use crate::ports::Progress;
    let steps =
        [perform(&caller.tenant, &world.platform, &job).await, perform(&caller.tenant, &world.platform, &job).await];

    assert_eq!(steps.map(Result::unwrap), [Progress::More, Progress::Done]);
    assert_eq!(left(&world, &caller, source.id.as_str()).await, Vec::<Value>::new());
}
