//! Tests of stream.

use domain::keys::Scope;
use http_body_util::BodyExt;
use hyper::{Request, Response, StatusCode};
use platform::Caller;
use platform::fake::emit;
use platform::fake::{World, component};
use platform::manage::components::CodeRequest;
use platform::manage::keys::{self, KeyRequest};
use platform::manage::sources::{CreateSource, create, delete, run};
use platform::ports::Outcome;
use platform::records::Source;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use admission::Share;

use super::reader::{COMMENT, greeting};

use super::{AHEAD, Config, Streams};
use crate::body::{Body, empty};
use crate::plugin::Plugin;
use crate::route::Access;

struct Stage {
    world: World,
    caller: Caller,
    source: Source,
    streams: Streams,
    shutdown: CancellationToken,
}

async fn stage(config: Config) -> Stage {
    let world = World::default();
    let caller = world.admin().await;
    let component = CodeRequest { component_code: Some(component("a", json!({}))), ..CodeRequest::default() };
    let request = CreateSource { component, ..CreateSource::default() };
    let source = create(&caller, &world.platform, request).await.unwrap();
    let shutdown = CancellationToken::new();
    let streams = Streams::new(world.platform.clone(), config, shutdown.clone());
    Stage { world, caller, source, streams, shutdown }
}

impl Stage {
    async fn open(&self, query: &str, last_event_id: &str) -> Response<Body> {
        let uri = format!("/v1/sources/{}/sse{query}", self.source.id);
        let request = Request::builder().uri(uri).header("last-event-id", last_event_id).body(empty()).unwrap();
        self.streams.handle(request, Some(self.caller.clone())).await
    }

    async fn emit(&self, event: Value) {
        run(&self.caller, &self.world.platform, self.source.id.as_str(), event).await.unwrap();
    }
}

async fn chunk(response: &mut Response<Body>) -> Option<String> {
    let frame = response.body_mut().frame().await?.unwrap();
    Some(String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap())
}

#[tokio::test]
async fn a_reader_is_greeted_and_gets_events_with_their_ids() {
    let stage = stage(Config::default()).await;

    let mut response = stage.open("", "").await;
    let greeting = chunk(&mut response).await.unwrap();
    stage.emit(json!({"n": 1})).await;
    let event = chunk(&mut response).await.unwrap();

    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(greeting, ":sse-handshake\nid: 0-0\n\n");
    let (id, data) = event.trim_end().split_once('\n').unwrap();
    let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(id.strip_prefix("id: "), data["id"].as_str());
    assert_eq!(data["event"], json!({"n": 1}));
    assert_eq!(data["metadata"]["emitter_id"], stage.source.id.as_str());
}

#[tokio::test]
async fn a_reader_that_comes_back_gets_what_it_missed() {
    let stage = stage(Config::default()).await;
    stage.emit(json!("first")).await;
    stage.emit(json!("second")).await;

    let mut response = stage.open("", "0-0").await;
    chunk(&mut response).await.unwrap();

    assert!(chunk(&mut response).await.unwrap().contains(r#""event":"first""#));
    assert!(chunk(&mut response).await.unwrap().contains(r#""event":"second""#));
}

/// Clients of the standard take over the id of a block without data, and come back with it.
#[tokio::test]
async fn a_reader_that_is_cut_off_before_its_first_event_misses_none() {
    let stage = stage(Config::default()).await;
    stage.emit(json!("before")).await;
    let mut response = stage.open("", "").await;
    let greeted = chunk(&mut response).await.unwrap();
    drop(response);
    stage.emit(json!("meanwhile")).await;

    let id = greeted.trim_end().rsplit_once("id: ").unwrap().1;
    let mut again = stage.open("", id).await;

    assert_eq!(chunk(&mut again).await.unwrap(), greeting(id));
    assert!(chunk(&mut again).await.unwrap().contains(r#""event":"meanwhile""#));
}

#[tokio::test]
async fn a_quiet_stream_is_kept_alive_by_comments() {
    let stage = stage(Config::default()).await;
    let mut response = stage.open("?event_name=$logs", "").await;
    chunk(&mut response).await.unwrap();
    tokio::task::yield_now().await;

    stage.world.clock.advance(15_000);

    assert_eq!(chunk(&mut response).await.unwrap(), COMMENT);
}

/// Name and data of an event that is no event of the source, and its id.
fn parse_named(chunk: &str) -> (String, Value, Option<String>) {
    let field = |name: &str| chunk.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
    (field("event: ").unwrap(), serde_json::from_str(&field("data: ").unwrap()).unwrap(), field("id: "))
}

#[tokio::test]
async fn a_reader_that_reads_gets_everything_that_one_run_emits() {
    const MANY: usize = 10_000;
    let stage = stage(Config::default()).await;
    stage.world.sandbox.script("a", |_| Outcome {
        emits: (0..MANY).map(|number| emit(&json!(number))).collect(),
        ..Outcome::default()
    });
    let mut response = stage.open("", "").await;
    chunk(&mut response).await.unwrap();

    stage.emit(json!(null)).await;

    for number in 0..MANY {
        let event = chunk(&mut response).await.unwrap();
        assert!(event.contains(&format!(r#""event":{number},"#)), "{number}: {event}");
    }
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_told_where_to_go_on() {
    let stage = stage(Config::default()).await;
    let mut response = stage.open("?event_name=default", "0-0").await;
    for number in 0..20 {
        stage.emit(json!(number)).await;
    }
    // The task fills what may wait, and then waits itself.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    stage.world.clock.advance(30_000);
    stage.streams.tasks.close();
    stage.streams.tasks.wait().await;

    let mut received = Vec::new();
    while let Some(chunk) = chunk(&mut response).await {
        received.push(chunk);
    }
    assert_eq!(received.len(), AHEAD + 1);
    let (name, data, id) = parse_named(received.last().unwrap());
    let source = stage.source.id.as_str();
    let expected = json!({
        "last_event_id": "0-0",
        "reason": "slow_reader",
        "resume": format!("/v1/sources/{source}/sse?event_name=default"),
        "list": format!("/v1/sources/{source}/event_summaries?before=0-0&event_name=default"),
    });
    assert_eq!((name.as_str(), data, id.as_deref()), ("gap", expected, Some("0-0")));
}

#[tokio::test]
async fn a_reader_that_falls_behind_what_is_held_gets_a_gap_after_the_last_event_it_was_sent() {
    let stage = stage(Config::default()).await;
    stage.world.sandbox.script("a", |call| {
        let (count, text) = (call["event"].as_u64().unwrap(), "x".repeat(1 << 20));
        Outcome { emits: (0..count).map(|_| emit(&json!(text))).collect(), ..Outcome::default() }
    });
    let mut response = stage.open("", "").await;
    chunk(&mut response).await.unwrap();
    stage.emit(json!(1)).await;
    let first = chunk(&mut response).await.unwrap();
    let first_id = first.lines().next().unwrap().strip_prefix("id: ").unwrap();

    // More than is held for the readers of one source.
    stage.emit(json!(40)).await;

    let (name, data, id) = parse_named(&chunk(&mut response).await.unwrap());
    assert_eq!((name.as_str(), id.as_deref()), ("gap", Some(first_id)));
    assert_eq!((&data["reason"], &data["last_event_id"]), (&json!("events_lost"), &json!(first_id)));
    assert_eq!(chunk(&mut response).await, None);
    // It goes on with what is kept.
    let mut resumed = stage.open("", first_id).await;
    chunk(&mut resumed).await.unwrap();
    assert!(chunk(&mut resumed).await.unwrap().contains("xxx"));
}

#[tokio::test]
async fn a_reader_that_comes_back_after_more_came_than_is_kept_is_told_and_goes_on() {
    let stage = stage(Config::default()).await;
    let mut first = stage.open("", "").await;
    chunk(&mut first).await.unwrap();
    stage.emit(json!("seen")).await;
    let seen = chunk(&mut first).await.unwrap();
    let seen_id = seen.lines().next().unwrap().strip_prefix("id: ").unwrap();
    for number in 0..101 {
        stage.emit(json!(number)).await;
    }

    let mut response = stage.open("?event_name=default", seen_id).await;
    chunk(&mut response).await.unwrap();
    let (name, data, id) = parse_named(&chunk(&mut response).await.unwrap());

    let (id, source) = (id.unwrap(), stage.source.id.as_str());
    let expected = json!({
        "last_event_id": id,
        "reason": "not_kept",
        "resume": format!("/v1/sources/{source}/sse?event_name=default"),
        "list": format!("/v1/sources/{source}/event_summaries?before={id}&event_name=default"),
    });
    assert_eq!((name.as_str(), data), ("gap", expected));
    assert!(chunk(&mut response).await.unwrap().contains(r#""event":1,"#), "the stream goes on with what is kept");
    let mut resumed = stage.open("?event_name=default", &id).await;
    chunk(&mut resumed).await.unwrap();
    assert!(chunk(&mut resumed).await.unwrap().contains(r#""event":1,"#), "from there, nothing is missing");
}

#[tokio::test]
async fn readers_share_the_memory_of_an_event() {
    let stage = stage(Config::default()).await;
    let mut responses = [stage.open("", "").await, stage.open("", "").await];
    stage.emit(json!("x".repeat(1000))).await;

    let mut places = Vec::new();
    for response in &mut responses {
        chunk(response).await.unwrap();
        let frame = response.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        places.push((frame.as_ptr(), frame));
    }

    assert_eq!(places[0].0, places[1].0);
}

/// What a stream says last.
async fn last_words(stage: &Stage, mut response: Response<Body>) -> Value {
    // Its task waits for the clock.
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    stage.world.clock.advance(5000);
    let (name, data, _) = parse_named(&chunk(&mut response).await.unwrap());
    assert_eq!((name.as_str(), chunk(&mut response).await), ("end", None));
    data["reason"].clone()
}

#[tokio::test]
async fn a_stream_says_why_it_ends() {
    let stage = stage(Config::default()).await;
    let new = keys::create(&stage.caller, &stage.world.platform, KeyRequest::default()).await.unwrap();
    let other = keys::authenticate(&stage.world.platform, &new.key).await.unwrap();
    let open = async |caller: &Caller| {
        let uri = format!("/v1/sources/{}/sse?event_name=$logs", stage.source.id);
        let request = Request::builder().uri(uri).body(empty()).unwrap();
        let mut response = stage.streams.handle(request, Some(caller.clone())).await;
        chunk(&mut response).await.unwrap();
        response
    };

    let of_key = open(&other).await;
    keys::revoke(&stage.caller, &stage.world.platform, &new.record.id).await.unwrap();
    assert_eq!(last_words(&stage, of_key).await, "key_revoked");

    let of_source = open(&stage.caller).await;
    delete(&stage.caller, &stage.world.platform, stage.source.id.as_str(), false).await.unwrap();
    assert_eq!(last_words(&stage, of_source).await, "source_deleted");
}

#[tokio::test]
async fn streams_end_when_the_server_goes() {
    let stage = stage(Config::default()).await;
    let mut response = stage.open("", "").await;
    chunk(&mut response).await.unwrap();

    stage.shutdown.cancel();

    let (name, data, _) = parse_named(&chunk(&mut response).await.unwrap());
    assert_eq!((name.as_str(), &data["reason"]), ("end", &json!("server_stopping")));
    assert_eq!(chunk(&mut response).await, None);
}

#[tokio::test]
async fn one_reader_more_than_there_is_room_for_is_told_to_come_back() {
    let check = async |config: Config, expected: StatusCode| {
        let stage = stage(config).await;

        let (first, second) = (stage.open("", "").await, stage.open("", "").await);

        assert_eq!((first.status(), second.status()), (StatusCode::OK, expected));
        assert_eq!(second.headers()["retry-after"], "1");
        drop(first);
        stage.streams.tasks.close();
        stage.streams.tasks.wait().await;
        assert_eq!(stage.open("", "").await.status(), StatusCode::OK);
    };

    check(Config { streams: Share::new(1, 2), ..Config::default() }, StatusCode::SERVICE_UNAVAILABLE).await;
    check(Config { streams: Share::new(2, 1), ..Config::default() }, StatusCode::TOO_MANY_REQUESTS).await;
}

#[tokio::test]
async fn streams_need_a_key_and_are_found_with_and_without_the_version() {
    let stage = stage(Config::default()).await;
    let claims = |uri: &str| {
        let (head, ()) = Request::builder().uri(uri).body(()).unwrap().into_parts();
        stage.streams.claims(&head)
    };

    assert_eq!(claims("/v1/sources/dc_1/sse"), Some(Access::Key(Scope::Read)));
    assert_eq!(claims("/sources/dc_1/sse/"), Some(Access::Key(Scope::Read)));
    assert_eq!(claims("/v1/sources/dc_1"), None);
}

#[tokio::test]
async fn an_unknown_stream_is_a_mistake_of_the_reader() {
    let stage = stage(Config::default()).await;

    assert_eq!(stage.open("?event_name=$what", "").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(stage.open("", "yesterday").await.status(), StatusCode::BAD_REQUEST);
}
