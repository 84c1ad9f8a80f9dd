//! Events as they come.

use std::sync::Arc;

use rig::client::{Client, Sse};
use rig::served::DataFolder;
use serde_json::{Value, json};

use super::{EMIT_BODY, World, on_every_store, text};

on_every_store! {
    a_stream_is_resumed_where_its_reader_left_off,
    a_reader_gets_every_event_of_a_run_however_few_are_kept,
    a_reader_gets_every_event_of_runs_that_end_together,
    a_reader_that_does_not_read_gets_a_gap_and_goes_on_after_it,
    a_stream_ends_with_its_source_and_with_its_key,
    a_reader_that_resumes_after_more_came_than_is_kept_is_told,
}

/// Emits the numbers from `from` on, as many as the body says.
const EMIT_NUMBERS: &str =
    "run(event) { const {from, count} = event.body; for (let n = from; n < from + count; n++) this.$emit(n); }";

async fn open(client: &Client, source: &str, query: &str) -> Sse {
    let mut stream = client.stream(&format!("/v1/sources/{source}/sse{query}"), None).await.unwrap();
    stream.is_open().await.unwrap();
    stream
}

async fn take(stream: &mut Sse, count: usize) -> Vec<Value> {
    let mut events = Vec::new();
    while events.len() < count {
        let mut sent = stream.next().await.unwrap();
        assert_eq!(sent.name, "", "after {} events: {}", events.len(), sent.data);
        events.push(sent.data["event"].take());
    }
    events
}

async fn a_stream_is_resumed_where_its_reader_left_off(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let path = format!("/sources/{}/sse", source.id);
    world.trigger(&source, &json!("before")).await;
    let mut first = world.client.stream(&path, None).await.unwrap();
    first.is_open().await.unwrap();

    world.trigger(&source, &json!("seen")).await;
    let seen = first.next().await.unwrap();
    drop(first);
    world.trigger(&source, &json!("missed")).await;
    let mut second = world.client.stream(&path, Some(&seen.id)).await.unwrap();
    let missed = second.next().await.unwrap();
    world.trigger(&source, &json!("live")).await;
    let live = second.next().await.unwrap();

    let events = [&seen, &missed, &live].map(|sent| sent.data["event"].clone());
    assert_eq!(events, [json!("seen"), json!("missed"), json!("live")]);
    assert_eq!(seen.data["id"], json!(seen.id));
    assert_eq!(seen.data["metadata"]["emitter_id"], json!(source.id));
}

async fn a_reader_that_resumes_after_more_came_than_is_kept_is_told(world: World) {
    let run = "run(event) { for (let n = 0; n < event.body.count; n++) { this.$emit(n); console.log(n); } }";
    let source = world.endpoint(run).await;
    let path = |stream: &str| format!("/v1/sources/{}/sse?event_name={stream}", source.id);
    let trigger = async |count: usize| {
        let run = format!("/v1/sources/{}/run", source.id);
        world.client.post(&run, &json!({"body": {"count": count}})).await.unwrap().data();
    };
    for (stream, kept) in [("default", 100), ("$logs", 1000), ("$runs", 200)] {
        let mut first = open(&world.client, &source.id, &format!("?event_name={stream}")).await;
        trigger(1).await;
        let seen = first.next().await.unwrap();
        drop(first);
        let (times, each) = if stream == "$runs" { (kept + 1, 0) } else { (1, kept + 1) };
        for _ in 0..times {
            trigger(each).await;
        }

        let mut resumed = world.client.stream(&path(stream), Some(&seen.id)).await.unwrap();
        let gap = resumed.next().await.unwrap();
        assert_eq!((gap.name.as_str(), &gap.data["reason"]), ("gap", &json!("not_kept")), "{stream}: {}", gap.data);
        assert_eq!(gap.data["last_event_id"], json!(gap.id));
        assert_eq!(take(&mut resumed, kept).await.len(), kept, "{stream}: the stream goes on with what is kept");
        let mut again = world.client.stream(&path(stream), Some(&gap.id)).await.unwrap();
        assert_eq!(again.next().await.unwrap().name, "", "{stream}: from there nothing is missing");
    }
}

async fn a_reader_gets_every_event_of_a_run_however_few_are_kept(world: World) {
    const MANY: usize = 10_000;
    let source = world.endpoint(EMIT_NUMBERS).await;
    let mut stream = open(&world.client, &source.id, "").await;

    world.trigger(&source, &json!({"from": 0, "count": MANY})).await;

    assert_eq!(take(&mut stream, MANY).await, (0..MANY).map(Value::from).collect::<Vec<_>>());
    assert_eq!(world.events(&source, "default").await.len(), 100);
}

async fn a_reader_gets_every_event_of_runs_that_end_together(world: World) {
    const RUNS: usize = 20;
    const EACH: usize = 90;
    let source = Arc::new(world.endpoint(EMIT_NUMBERS).await);
    let mut stream = open(&world.client, &source.id, "").await;

    let runs: Vec<_> = (0..RUNS)
        .map(|run| {
            let (client, source) = (world.client.clone(), source.clone());
            let body = json!({"from": run * EACH, "count": EACH});
            tokio::spawn(async move { client.trigger(&source.endpoint, &body).await.unwrap().status })
        })
        .collect();
    let events = take(&mut stream, RUNS * EACH).await;

    for run in runs {
        assert_eq!(run.await.unwrap(), 200);
    }
    for burst in events.chunks(EACH) {
        let from = burst[0].as_u64().unwrap();
        assert_eq!(from % EACH as u64, 0, "a run begins here");
        assert!(burst.iter().zip(from..).all(|(event, number)| *event == json!(number)), "{burst:?}");
    }
    let mut all: Vec<u64> = events.iter().filter_map(Value::as_u64).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..(RUNS * EACH) as u64));
}

async fn a_reader_that_does_not_read_gets_a_gap_and_goes_on_after_it(world: World) {
    let run = "run(event) { for (let n = 0; n < 20; n++) this.$emit({n, text: 'x'.repeat(400 * 1024)}); }";
    let source = world.endpoint(run).await;
    let mut stream = open(&world.client, &source.id, "").await;
    // More than is held for its readers, and than the connection takes. A run by hand is answered when it is committed.
    for _ in 0..8 {
        world.client.post(&format!("/v1/sources/{}/run?include=ok", source.id), &json!({})).await.unwrap().data();
    }

    let mut last = None;
    let gap = loop {
        let sent = stream.next().await.unwrap();
        if !sent.name.is_empty() {
            break sent;
        }
        last = Some(sent.id);
    };

    assert_eq!((gap.name.as_str(), Some(&gap.id)), ("gap", last.as_ref()));
    assert_eq!(gap.data["last_event_id"], json!(gap.id));
    assert!(stream.is_over().await.unwrap());
    let mut resumed = world.client.stream(gap.data["resume"].as_str().unwrap(), Some(&gap.id)).await.unwrap();
    assert!(resumed.next().await.unwrap().id > gap.id);
    let listed = world.client.get(gap.data["list"].as_str().unwrap()).await.unwrap().success().unwrap();
    assert!(!listed["data"].as_array().unwrap().is_empty());
}

async fn a_stream_ends_with_its_source_and_with_its_key(world: World) {
    let source = world.endpoint(EMIT_BODY).await;
    let key = world.client.post("/v1/users/me/keys", &json!({})).await.unwrap().data();
    let other = Client::new(&world.served.url, &text(&key["api_key"]));
    let mut streams = Vec::new();
    for query in ["", "?event_name=$logs", "?event_name=$errors"] {
        streams.push((open(&other, &source.id, query).await, open(&world.client, &source.id, query).await));
    }

    let revoked = world.client.delete(&format!("/v1/users/me/keys/{}", text(&key["id"]))).await.unwrap();
    assert_eq!(revoked.status, 204, "{}", revoked.text());
    for (of_key, _) in &mut streams {
        check_end(of_key, "key_revoked").await;
    }
    let deleted = world.client.delete(&format!("/v1/sources/{}", source.id)).await.unwrap();
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    for (_, of_source) in &mut streams {
        check_end(of_source, "source_deleted").await;
    }
}

async fn check_end(stream: &mut Sse, reason: &str) {
    let end = stream.next().await.unwrap();
    assert_eq!((end.name.as_str(), &end.data["reason"]), ("end", &json!(reason)));
    assert!(stream.is_over().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_one_host_gets_what_another_host_commits() {
    const MANY: usize = 5_000;
    let world = World::on_redis().await;
    let source = world.endpoint(EMIT_NUMBERS).await;
    let second = DataFolder::in_store(world.place.store.clone());
    std::fs::copy(world.place.data().join("encryption.key"), second.data().join("encryption.key")).unwrap();
    let second = second.start().await;
    let mut there = open(&second.client(), &source.id, "").await;
    let mut here = open(&world.client, &source.id, "").await;

    world.trigger(&source, &json!({"from": 0, "count": MANY})).await;

    let expected: Vec<Value> = (0..MANY).map(Value::from).collect();
    assert_eq!(take(&mut there, MANY).await, expected);
    assert_eq!(take(&mut here, MANY).await, expected);
}
