//! Tests of ingress.

use std::net::SocketAddr;

use admission::Turns;
use http_body_util::BodyExt;
use hyper::{Request, Response, StatusCode};
use platform::Caller;
use platform::fake::{World, component, returned};
use platform::flow::{self, Flow};
use platform::manage::components::CodeRequest;
use platform::manage::sources::{CreateSource, create};
use platform::ports::Reply;
use platform::records::Source;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

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
    stage_with(world, prop, flow::Config::default()).await
}

async fn stage_with(world: World, prop: Value, config: flow::Config) -> Stage {
    let caller = world.admin().await;
    stage_of(world, &caller, prop, config).await
}

async fn stage_of(world: World, caller: &Caller, prop: Value, config: flow::Config) -> Stage {
    let (handle, _) = Flow::new(world.platform.clone(), world.chores(), config);
    let component_code = Some(component("a", json!({"props": {"http": prop}})));
    let component = CodeRequest { component_code, ..CodeRequest::default() };
    let request = CreateSource { component, ..CreateSource::default() };
    let source = create(caller, &world.platform, request).await.unwrap();
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
async fn a_connection_takes_turns_with_the_tenant_whose_endpoint_it_asked_for() {
    let world = World::default();
    let caller = world.admin().await;
    let stage = stage_of(world, &caller, plain(), flow::Config::default()).await;
    let connection = Turns::for_threads().of("192.0.2.7").owner();
    let mut request = Request::builder().uri(stage.path("/")).header("host", "wellspring.test").body(empty()).unwrap();
    request.extensions_mut().insert(connection.clone());

    stage.ingress.handle(request, None).await;

    assert_eq!(*connection.tenant(), *caller.tenant.as_str());
}

#[tokio::test]
async fn the_session_of_the_console_is_no_part_of_the_event() {
    let stage = stage(plain()).await;
    let request = Request::builder().method("GET").uri(stage.path("/")).header("host", "wellspring.test");
    let request = request.header("cookie", "a=1; __Host-wellspring=secret; b=2; wellspring=secret");

    stage.ingress.handle(request.body(empty()).unwrap(), None).await;

    assert_eq!(stage.event()["headers"]["cookie"], "a=1; b=2");
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
async fn a_host_that_names_an_endpoint_serves_no_other_by_its_path() {
    let stage = stage(plain()).await;
    let host = format!("{}.hooks.example.com", stage.source.endpoint_key);

    let response = stage.ask("POST", "/e/0123456789012345678901", &host, empty()).await;

    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(stage.event()["path"], "/e/0123456789012345678901");
}

#[tokio::test]
async fn an_event_names_the_interface_it_came_through() {
    let stage = stage(plain()).await;

    stage.ask("POST", &stage.path(""), "wellspring.test", empty()).await;

    assert_eq!(stage.event()["interface"], "http");
}

/// An error as the API's: its envelope, its content type, and readable by pages of any origin.
async fn check_error(response: Response<Body>, status: u16, code: &str) {
    assert_eq!(response.status().as_u16(), status, "{code}");
    assert_eq!(response.headers()["content-type"], "application/json", "{code}");
    assert_eq!(response.headers()["access-control-allow-origin"], "*", "{code}");
    let body: Value = serde_json::from_str(&text(response).await).unwrap();
    assert!(body["error"].is_string(), "{body}");
    assert_eq!(body["code"], code);
}

#[tokio::test]
async fn whatever_goes_wrong_at_an_endpoint_is_told_as_the_api_tells_it() {
    let world = World::new(|config| config.limits.body_bytes = 4);
    let stage = stage_in(world, custom()).await;
    let host = "wellspring.test";

    check_error(stage.ask("POST", "/e/0123456789012345678901", host, empty()).await, 404, "endpoint_not_found").await;
    check_error(stage.ask("POST", &stage.path(""), host, full("12345")).await, 413, "body_too_large").await;
    check_error(stage.ask("POST", &stage.path(""), host, empty()).await, 500, "no_response").await;
    stage.world.sandbox.script_async("a", |_, services| async move {
        services.reply(Reply { status: 101, headers: Vec::new(), body: "x".into() });
        returned(&json!(null))
    });
    check_error(stage.ask("POST", &stage.path(""), host, empty()).await, 500, "invalid_response").await;
}

#[tokio::test]
async fn too_many_requests_are_told_as_the_api_tells_it() {
    let config = flow::Config { endpoint_rate: platform::Rate { per_second: 1, burst: 1 }, ..flow::Config::default() };
    let stage = stage_with(World::default(), plain(), config).await;
    stage.ask("POST", &stage.path(""), "wellspring.test", empty()).await;

    let response = stage.ask("POST", &stage.path(""), "wellspring.test", empty()).await;

    assert_eq!(response.headers()["retry-after"], "1");
    check_error(response, 429, "too_many_requests").await;
}

async fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = async_compression::tokio::write::GzipEncoder::new(Vec::new());
    encoder.write_all(content).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.into_inner()
}

impl Stage {
    async fn post_encoded(&self, encoding: &'static str, body: Vec<u8>) -> Response<Body> {
        let request = Request::builder().method("POST").uri(self.path("")).header("content-type", "application/json");
        let request = request.header("content-encoding", encoding).header("content-length", body.len());
        self.ingress.handle(request.body(full(body)).unwrap(), None).await
    }
}

#[tokio::test]
async fn an_encoded_body_is_decoded_and_the_event_speaks_of_what_it_holds() {
    let stage = stage(plain()).await;

    let response = stage.post_encoded("gzip", gzip(br#"{"n":1}"#).await).await;

    assert_eq!(response.status(), StatusCode::OK);
    let event = stage.event();
    assert_eq!((&event["body"], &event["bodyRaw"]), (&json!({"n": 1}), &json!(r#"{"n":1}"#)));
    assert_eq!(event["headers"], json!({"content-type": "application/json"}));
}

#[tokio::test]
async fn a_decoded_body_is_bounded_and_what_cannot_be_decoded_is_refused() {
    let world = World::new(|config| config.limits.body_bytes = 1000);
    let stage = stage_in(world, plain()).await;

    assert_eq!(stage.post_encoded("gzip", gzip(&[b' '; 1000]).await).await.status(), StatusCode::OK);
    check_error(stage.post_encoded("gzip", gzip(&[b' '; 1001]).await).await, 413, "body_too_large").await;
    check_error(stage.post_encoded("gzip", b"plain".to_vec()).await, 400, "malformed_content_encoding").await;
    let unknown = stage.post_encoded("zstd", Vec::new()).await;
    assert_eq!(unknown.headers()["accept-encoding"], "gzip, deflate, br");
    check_error(unknown, 415, "unsupported_content_encoding").await;
    check_error(stage.post_encoded("gzip, br", Vec::new()).await, 415, "unsupported_content_encoding").await;
}

#[tokio::test]
async fn a_component_that_asks_for_it_gets_the_body_as_it_was_sent() {
    let stage = stage(json!({"type": "$.interface.http", "keepEncoding": true})).await;
    let sent = gzip(b"signed").await;

    stage.post_encoded("gzip", sent.clone()).await;

    let event = stage.event();
    assert_eq!((&event["headers"]["content-encoding"], &event["is_base64"]), (&json!("gzip"), &json!(true)));
    let raw = event["bodyRaw"].as_str().unwrap();
    assert_eq!(base64::Engine::decode(&base64::engine::general_purpose::STANDARD, raw).unwrap(), sent);
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
async fn an_answer_on_the_origin_of_the_api_says_nothing_about_that_origin() {
    let stage = stage(custom()).await;
    stage.world.sandbox.script_async("a", |_, services| async move {
        let headers = [("set-cookie", "a=1"), ("Content-Length", "1"), ("x-mine", "1")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        services.reply(Reply { status: 200, headers, body: "<script>".into() });
        returned(&json!(null))
    });
    let own_host = format!("{}.hooks.example.com", stage.source.endpoint_key);
    let names = |response: &Response<Body>| -> Vec<String> {
        response.headers().keys().map(|name| name.as_str().to_owned()).collect()
    };

    let shared = stage.ask("GET", &stage.path(""), "wellspring.test", empty()).await;
    let own = stage.ask("GET", "/", &own_host, empty()).await;

    assert_eq!(names(&shared), ["x-mine", "content-security-policy", "x-wellspring-run"]);
    assert_eq!(shared.headers()["content-security-policy"], "sandbox");
    assert_eq!(names(&own), ["set-cookie", "x-mine", "x-wellspring-run"]);
}

#[tokio::test]
async fn a_used_up_quota_has_the_code_of_the_api_and_tells_when_to_come_back() {
    use domain::users::{Plan, Quotas};
    use platform::manage::users::{UserChange, update};
    let world = World::default();
    let admin = world.admin().await;
    let stage = stage_of(world, &admin, plain(), flow::Config::default()).await;
    let quotas = Quotas { daily_compute_ms: 1, daily_invocations: 0 };
    let change = UserChange { plan: Some(Plan::Free { quotas }), ..UserChange::default() };
    update(&admin, &stage.world.platform, admin.user.id.as_str(), change).await.unwrap();

    let response = stage.ask("POST", &stage.path("/"), "wellspring.test", full("{}")).await;

    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.headers()["retry-after"], "43200");
    assert!(text(response).await.contains(r#""code":"quota_exceeded""#));
}
