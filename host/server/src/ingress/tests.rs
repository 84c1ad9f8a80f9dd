//! Tests of ingress.

use std::net::SocketAddr;

use http_body_util::BodyExt;
use hyper::{Request, Response, StatusCode};
use platform::fake::{World, component, returned};
use platform::flow::{self, Flow};
use platform::manage::components::CodeRequest;
use platform::manage::sources::{CreateSource, create};
use platform::ports::Reply;
use platform::records::Source;
use serde_json::{Map, Value, json};

use super::{Config, Ingress};
use crate::body::{Body, Peer, empty, full};
use crate::plugin::Plugin;

struct Stage {
    world: World,
    ingress: Ingress,
    source: Source,
}

async fn stage(prop: Value) -> Stage {
    stage_in(World::default(), prop).await
}

async fn stage_in(world: World, prop: Value) -> Stage {
    let caller = world.admin().await;
    let (handle, _) = Flow::new(world.platform.clone(), flow::Config::default());
    let component_code = Some(component("a", json!({"props": {"http": prop}})));
    let component = CodeRequest { component_code, ..CodeRequest::default() };
    let request = CreateSource { component, name: None, configured_props: Map::new() };
    let source = create(&caller, &world.platform, request).await.unwrap();
    let config = Config { wildcard_domain: Some("hooks.example.com".into()), ..Config::default() };
    let ingress = Ingress::new(world.platform.clone(), handle, config);
    Stage { world, ingress, source }
}

fn plain() -> Value {
    json!({"type": "$.interface.http"})
}

fn custom() -> Value {
    json!({"type": "$.interface.http", "customResponse": true})
}

impl Stage {
    fn path(&self, rest: &str) -> String {
        format!("/e/{}{rest}", self.source.endpoint_key)
    }

    async fn ask(&self, method: &str, uri: &str, host: &str, body: Body) -> Response<Body> {
        let request = Request::builder().method(method).uri(uri).header("host", host);
        let mut request = request.header("content-type", "application/json").body(body).unwrap();
        request.extensions_mut().insert(Peer(SocketAddr::from(([192, 0, 2, 7], 4711))));
        let (head, body) = request.into_parts();
        assert!(self.ingress.claims(&head).is_some());
        self.ingress.handle(Request::from_parts(head, body), None).await
    }

    /// The event the component was run with.
    fn event(&self) -> Value {
        self.world.sandbox.calls().last().unwrap()["event"].clone()
    }
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_request_by_path_becomes_the_components_event() {
    let stage = stage(plain()).await;

    let response = stage.ask("POST", &stage.path("/deep/er?a=1"), "wellspring.test", full(r#"{"n":1}"#)).await;

    assert_eq!(response.status(), StatusCode::OK);
    let event = stage.event();
    let url = format!("https://wellspring.test{}", stage.path("/deep/er?a=1"));
    assert_eq!(event["method"], "POST");
    assert_eq!(event["path"], "/deep/er");
    assert_eq!(event["query"], json!({"a": "1"}));
    assert_eq!(event["body"], json!({"n": 1}));
    assert_eq!(event["url"], url.as_str());
    assert_eq!(event["client_ip"], "192.0.2.7");
}

#[tokio::test]
async fn a_request_by_host_finds_the_same_source() {
    let stage = stage(plain()).await;
    let host = format!("{}.hooks.example.com:8443", stage.source.endpoint_key);

    let response = stage.ask("POST", "/x", &host, empty()).await;

    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(stage.event()["path"], "/x");
    assert_eq!(stage.event()["url"], format!("https://{host}/x"));
}

#[tokio::test]
async fn other_paths_and_other_hosts_are_left_to_others() {
    let stage = stage(plain()).await;
    let claims = |uri: &str, host: &str| {
        let (head, ()) = Request::builder().uri(uri).header("host", host).body(()).unwrap().into_parts();
        stage.ingress.claims(&head).is_some()
    };

    assert!(!claims("/v1/sources", "wellspring.test"));
    assert!(!claims("/", "hooks.example.com"));
    assert!(!claims("/", "key.example.com"));
}

#[tokio::test]
async fn an_unknown_endpoint_is_not_found() {
    let stage = stage(plain()).await;

    let response = stage.ask("POST", "/e/0123456789012345678901", "wellspring.test", empty()).await;

    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert!(text(response).await.contains("endpoint_not_found"));
}

#[tokio::test]
async fn a_body_at_the_limit_is_taken_and_one_byte_more_is_not() {
    let world = World::new(|config| config.limits.body_bytes = 4);
    let stage = stage_in(world, plain()).await;

    let at_the_limit = stage.ask("POST", &stage.path(""), "wellspring.test", full("1234")).await;
    let beyond = stage.ask("POST", &stage.path(""), "wellspring.test", full("12345")).await;

    assert_eq!((at_the_limit.status(), beyond.status()), (StatusCode::OK, StatusCode::PAYLOAD_TOO_LARGE));
}

#[tokio::test]
async fn a_preflight_is_answered_without_running_the_component() {
    let stage = stage(plain()).await;

    let response = stage.ask("OPTIONS", &stage.path(""), "wellspring.test", empty()).await;

    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    assert!(stage.world.sandbox.calls().is_empty());
}

#[tokio::test]
async fn a_component_that_responds_answers_also_the_preflight() {
    let stage = stage(custom()).await;
    stage.world.sandbox.script_async("a", |_, services| async move {
        let headers = vec![("x-a".to_owned(), "1".to_owned()), ("x-a".to_owned(), "2".to_owned())];
        services.reply(Reply { status: 418, headers, body: "tea".into() });
        returned(&json!(null))
    });

    let response = stage.ask("OPTIONS", &stage.path(""), "wellspring.test", empty()).await;

    assert_eq!(response.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(response.headers().get_all("x-a").iter().count(), 2);
    assert_eq!(text(response).await, "tea");
}

#[tokio::test]
async fn a_component_that_does_not_respond_is_a_500_with_a_reason() {
    let stage = stage(custom()).await;

    let response = stage.ask("POST", &stage.path(""), "wellspring.test", empty()).await;

    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(text(response).await.contains("no_response"));
}
