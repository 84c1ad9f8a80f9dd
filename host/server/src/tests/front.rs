//! Tests of front.

use std::sync::Arc;
use std::time::Duration;

use admission::TurnOwner;
use async_trait::async_trait;
use domain::keys::Scope;
use hyper::http::request;
use hyper::{Request, Response};
use platform::Caller;
use platform::fake::World;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::wire::{Wire, wire};
use crate::front::Config;
use crate::{Access, ApiLimits, Body, Peer, Plugin, full};

#[tokio::test]
async fn health_readiness_metrics_and_the_reference_need_no_key() {
    let wire = wire().await;

    let get = async |path: &str| wire.send("GET", path, "", b"").await;

    assert_eq!(get("/healthz").await.text, "ok\n");
    assert_eq!(get("/readyz").await.text, "ready\n");
    assert!(
        get("/metrics")
            .await
            .text
            .contains("wellspring_http_requests_total{method=\"GET\",route=\"/readyz\",status=\"200\"} 1")
    );
    assert!(get("/docs").await.text.starts_with("<!doctype html>"));
    assert_eq!(get("/v1/openapi.json").await.json()["openapi"], "3.1.0");
}

#[tokio::test]
async fn a_full_disk_is_named_reads_go_on_and_it_is_over_by_itself() {
    let wire = wire().await;
    let webhook = async || wire.post("/v1/webhooks", json!({"url": "https://example.com"})).await;
    const SENTENCE: &str = "the server's disk is full: nothing can be changed until there is room";

    wire.world.store.set_full(true);

    let ready = wire.send("GET", "/readyz", "", b"").await;
    assert_eq!((ready.status, ready.text), (503, format!("not ready: {SENTENCE}\n")));
    assert_eq!(wire.send("GET", "/healthz", "", b"").await.status, 200);
    assert_eq!(wire.get("/v1/users/me/sources").await.status, 200);
    let refused = webhook().await;
    assert_eq!((refused.status, &refused.json()["error"]), (503, &SENTENCE.into()));
    assert_eq!(refused.json()["code"], "disk_full");

    wire.world.store.set_full(false);
    assert_eq!(wire.send("GET", "/readyz", "", b"").await.status, 200);
    assert_eq!(webhook().await.status, 200);
}

#[tokio::test]
async fn a_server_that_only_reads_is_ready_answers_reads_and_refuses_changes() {
    let wire = with_plugin().await;
    let webhook = async || wire.post("/v1/webhooks", json!({"url": "https://example.com"})).await;

    wire.world.store.set_read_only(true);

    assert_eq!(wire.send("GET", "/readyz", "", b"").await.status, 200);
    assert_eq!(wire.get("/v1/users/me/sources").await.status, 200);
    assert_eq!(wire.send("GET", "/e/x", "", b"").await.status, 200);
    assert_eq!(wire.send("GET", "/v1/openapi.json", "", b"").await.status, 200);
    for refused in [webhook().await, wire.send("POST", "/e/x", "", b"").await, wire.delete("/v1/webhooks/wh_1").await] {
        assert_eq!(refused.header("retry-after").as_deref(), Some("30"));
        assert_eq!(refused.refusal(), (503, "read_only".into()));
    }
    let unknown = wire.send("POST", "/v1/webhooks", "", b"{}").await;
    assert_eq!(unknown.status, 401, "what may not be asked at all is told so first");

    wire.world.store.set_read_only(false);
    assert_eq!(webhook().await.status, 200);
}

#[tokio::test]
async fn metrics_have_no_series_that_a_client_can_invent() {
    let wire = wire().await;
    wire.send("BREW", "/coffee/1", "", b"").await;
    wire.send("GET", "/v1/sources/dc_x", "", b"").await;

    let text = wire.send("GET", "/metrics", "", b"").await.text;

    assert!(text.contains("method=\"other\",route=\"none\",status=\"404\""));
    assert!(text.contains("route=\"/v1/sources/{id}\",status=\"401\""));
    assert!(!text.contains("coffee") && !text.contains("dc_x"));
}

#[tokio::test]
async fn a_request_id_is_taken_over_or_made() {
    let wire = wire().await;

    let own = wire.send("GET", "/healthz", "x-request-id: mine-1\r\n", b"").await;
    let made = wire.send("GET", "/healthz", "", b"").await;

    assert_eq!(own.header("x-request-id").as_deref(), Some("mine-1"));
    assert_eq!(made.header("x-request-id").unwrap().len(), 16);
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let wire = wire().await;

    let reply = wire.send("HEAD", "/healthz", "", b"").await;

    assert_eq!((reply.status, reply.text.as_str()), (200, ""));
}

#[tokio::test]
async fn connections_are_kept_alive_and_serve_request_after_request() {
    let wire = wire().await;
    let mut stream = TcpStream::connect(wire.address).await.unwrap();

    for _ in 0..3 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"ok\n") {
            assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
        }
    }
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let config = Config { head_timeout: Duration::from_millis(20), ..Config::default() };
    let wire = Wire::start(World::default(), ApiLimits::default(), config, Vec::new()).await;
    let mut stream = TcpStream::connect(wire.address).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost").await.unwrap();

    // Waits until the server ends the connection, with or without an answer.
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;

    assert!(!answer.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn a_connection_over_the_limit_waits_for_a_place() {
    let config = Config { max_connections: 1, ..Config::default() };
    let wire = Wire::start(World::default(), ApiLimits::default(), config, Vec::new()).await;
    let mut first = TcpStream::connect(wire.address).await.unwrap();
    let mut second = TcpStream::connect(wire.address).await.unwrap();
    second.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();

    // The server polls the connections that are ready; in as many turns it would have polled the second.
    for _ in 0..100 {
        first.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let metrics = read_answer(&mut first).await;
        assert!(metrics.contains("\nwellspring_http_connections 1\n"), "only one has a place: {metrics}");
    }
    drop(first);
    let mut answer = Vec::new();
    second.read_to_end(&mut answer).await.unwrap();

    assert!(answer.ends_with(b"ok\n"));
}

/// One answer with a known length.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    loop {
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0, "the connection lives");
        let text = String::from_utf8_lossy(&answer).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse().unwrap() {
            return text;
        }
    }
}

/// Answers everything under `/e/`, streams included; panics when asked to.
pub(super) struct Endpoint;

#[async_trait]
impl Plugin for Endpoint {
    fn claims(&self, head: &request::Parts) -> Option<Access> {
        match head.uri.path() {
            "/e/private" => Some(Access::Key(Scope::Read)),
            path => path.starts_with("/e/").then_some(Access::Public),
        }
    }

    fn route(&self) -> &'static str {
        "/e/{key}"
    }

    async fn handle(&self, request: Request<Body>, caller: Option<Caller>) -> Response<Body> {
        assert_ne!(request.uri().path(), "/e/panic");
        let peer = request.extensions().get::<Peer>().unwrap().0.ip();
        let turns = request.extensions().get::<TurnOwner>().unwrap().tenant();
        let (name, tenant) = match caller {
            Some(caller) => (caller.user.username, caller.tenant.to_string()),
            None => ("anonymous".to_owned(), peer.to_string()),
        };
        assert_eq!(*turns, *tenant, "a connection takes the turns of its caller");
        Response::new(full(format!("{} {peer} {name}", request.method())))
    }
}

async fn with_plugin() -> Wire {
    Wire::start(World::default(), ApiLimits::default(), Config::default(), vec![Arc::new(Endpoint)]).await
}

#[tokio::test]
async fn a_plugin_answers_what_it_claims_with_the_access_it_asks_for() {
    let wire = with_plugin().await;
    let key = format!("authorization: Bearer {}\r\n", wire.admin.presented_key.expose());

    assert_eq!(wire.send("BREW", "/e/x", "", b"").await.text, "BREW 127.0.0.1 anonymous");
    assert_eq!(wire.send("GET", "/e/private", &key, b"").await.text, "GET 127.0.0.1 admin");
    assert_eq!(wire.send("GET", "/e/private", "", b"").await.status, 401);
    assert_eq!(wire.send("GET", "/healthz", "", b"").await.text, "ok\n");
}

#[tokio::test]
async fn a_panic_is_a_500_and_the_server_lives_on() {
    let wire = with_plugin().await;

    let broken = wire.send("GET", "/e/panic", "", b"").await;

    assert_eq!(broken.refusal(), (500, "internal".into()));
    assert_eq!(wire.send("GET", "/healthz", "", b"").await.status, 200);
}

#[tokio::test]
async fn shutdown_finishes_what_is_under_way_and_takes_nothing_new() {
    let wire = wire().await;
    let mut idle = TcpStream::connect(wire.address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"ok\n") {
        idle.read_buf(&mut answer).await.unwrap();
    }

    wire.shutdown.cancel();
    wire.serving.await.unwrap().unwrap();

    assert_eq!(idle.read(&mut [0; 16]).await.unwrap_or(0), 0, "idle connections are closed");
    assert!(TcpStream::connect(wire.address).await.is_err());
}

#[tokio::test]
async fn a_server_that_drains_is_not_ready_and_ends_connections_after_their_answer() {
    let wire = wire().await;

    wire.app.drain();

    let ready = wire.send("GET", "/readyz", "", b"").await;
    assert_eq!((ready.status, ready.header("connection").as_deref()), (503, Some("close")));
    let other = wire.send("GET", "/healthz", "", b"").await;
    assert_eq!((other.status, other.header("connection").as_deref()), (200, Some("close")), "it still serves");
}

#[tokio::test]
async fn while_it_starts_a_server_is_alive_and_not_ready_and_then_takes_the_same_connections() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let ready = tokio_util::sync::CancellationToken::new();
    let starting = tokio::spawn(crate::front::answer_while_starting(listener, ready.clone()));
    let get = async |path: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    // One that never says anything does not hold up the start.
    let _silent = TcpStream::connect(address).await.unwrap();

    let (alive, not_ready) = (get("/healthz").await, get("/readyz").await);
    ready.cancel();
    let listener = starting.await.unwrap();

    assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
    assert!(not_ready.starts_with("HTTP/1.1 503") && not_ready.contains("the server is starting"), "{not_ready}");
    let _late = TcpStream::connect(address).await.unwrap();
    listener.accept().await.unwrap();
}

#[tokio::test]
async fn the_reference_page_runs_no_scripts_and_is_framed_by_nothing() {
    let wire = wire().await;

    let page = wire.send("GET", "/docs", "", b"").await;
    let other = wire.send("GET", "/healthz", "", b"").await;

    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && policy.contains("frame-ancestors 'none'"));
    assert_eq!((page.status, other.header("content-security-policy")), (200, None));
}
