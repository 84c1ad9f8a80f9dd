//! Tests of stream.

use http_body_util::BodyExt;
use hyper::{Request, Response, StatusCode};
use platform::Caller;
use platform::fake::{World, component};
use platform::manage::components::CodeRequest;
use platform::manage::sources::{CreateSource, create, run};
use platform::records::Source;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{AHEAD, COMMENT, Config, Streams};
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
    let request = CreateSource { component, name: None, configured_props: Map::new() };
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
    assert_eq!(greeting, COMMENT);
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

#[tokio::test]
async fn a_quiet_stream_is_kept_alive_by_comments() {
    let stage = stage(Config::default()).await;
    let mut response = stage.open("?event_name=$logs", "").await;
    chunk(&mut response).await.unwrap();
    tokio::task::yield_now().await;

    stage.world.clock.advance(15_000);

    assert_eq!(chunk(&mut response).await.unwrap(), COMMENT);
}

#[tokio::test]
async fn a_reader_that_does_not_read_is_disconnected() {
    let stage = stage(Config::default()).await;
    let mut response = stage.open("", "0-0").await;
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

    let mut received = 0;
    while chunk(&mut response).await.is_some() {
        received += 1;
    }
    assert_eq!(received, AHEAD);
}

#[tokio::test]
async fn streams_end_when_the_server_goes() {
    let stage = stage(Config::default()).await;
    let mut response = stage.open("", "").await;
    chunk(&mut response).await.unwrap();

    stage.shutdown.cancel();

    assert_eq!(chunk(&mut response).await, None);
}

#[tokio::test]
async fn one_reader_more_than_there_is_room_for_is_told_to_come_back() {
    let stage = stage(Config { max_readers: 1, ..Config::default() }).await;

    let (first, second) = (stage.open("", "").await, stage.open("", "").await);

    assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE));
}

#[tokio::test]
async fn streams_need_a_key_and_are_found_with_and_without_the_version() {
    let stage = stage(Config::default()).await;
    let claims = |uri: &str| {
        let (head, ()) = Request::builder().uri(uri).body(()).unwrap().into_parts();
        stage.streams.claims(&head)
    };

    assert_eq!(claims("/v1/sources/dc_1/sse"), Some(Access::Key));
    assert_eq!(claims("/sources/dc_1/sse/"), Some(Access::Key));
    assert_eq!(claims("/v1/sources/dc_1"), None);
}

#[tokio::test]
async fn an_unknown_stream_is_a_mistake_of_the_reader() {
    let stage = stage(Config::default()).await;

    assert_eq!(stage.open("?event_name=$what", "").await.status(), StatusCode::BAD_REQUEST);
    assert_eq!(stage.open("", "yesterday").await.status(), StatusCode::BAD_REQUEST);
}
