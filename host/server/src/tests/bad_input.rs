//! Tests of bad input.

use std::time::Duration;

use platform::fake::{World, component};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::wire::{Wire, id, wire};
use crate::ApiLimits;
use crate::front::Config;

#[tokio::test]
async fn a_body_that_is_not_an_object_of_json_is_400() {
    let wire = wire().await;
    let key = format!(
        "authorization: Bearer {}\r\ncontent-type: application/json; charset=utf-8\r\n",
        wire.admin.presented_key.expose()
    );

    for (body, code) in [
        (&b"{"[..], "malformed_json"),
        (b"{\"url\": }", "malformed_json"),
        (b"{\"url\": \"\xff\"}", "malformed_json"),
        (b"nope", "malformed_json"),
        (b"{} {}", "malformed_json"),
        (b"[]", "not_an_object"),
        (b"\"text\"", "not_an_object"),
        (b"1", "not_an_object"),
        (b"null", "not_an_object"),
    ] {
        let reply = wire.send("POST", "/v1/webhooks", &key, body).await;
        assert_eq!(reply.refusal(), (400, code.into()), "{}", String::from_utf8_lossy(body));
    }
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    assert_eq!(wire.send("POST", "/v1/webhooks", &key, &deep).await.refusal(), (400, "malformed_json".into()));
}

#[tokio::test]
async fn malformed_json_tells_line_and_column() {
    let wire = wire().await;
    let key =
        format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", wire.admin.presented_key.expose());

    let reply = wire.send("POST", "/v1/webhooks", &key, b"{\n\"url\": }").await;

    assert_eq!(reply.json()["details"], json!({"line": 2, "column": 8}));
}

#[tokio::test]
async fn a_body_that_does_not_say_it_is_json_is_415() {
    let wire = wire().await;

    for kind in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: application/jsonp\r\n",
    ] {
        let headers = format!("authorization: Bearer {}\r\n{kind}", wire.admin.presented_key.expose());
        for method in ["POST", "PUT", "DELETE"] {
            let path = if method == "POST" { "/v1/webhooks" } else { "/v1/sources/dc_000000000000" };
            let reply = wire.send(method, path, &headers, b"{}").await;
            assert_eq!(reply.refusal(), (415, "unsupported_media_type".into()), "{method} {kind:?}");
        }
    }
}

#[tokio::test]
async fn a_body_at_the_limit_is_read_and_one_byte_more_is_413() {
    let limits = ApiLimits { body_bytes: 100, ..ApiLimits::default() };
    let wire = Wire::start(World::default(), limits, Config::default(), Vec::new()).await;
    let key =
        format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", wire.admin.presented_key.expose());
    let padded = |size: usize| format!("{:<size$}", r#"{"url": "https://example.com"}"#);

    let at_the_bound = wire.send("POST", "/v1/webhooks", &key, padded(100).as_bytes()).await;
    let announced = wire.send("POST", "/v1/webhooks", &key, padded(101).as_bytes()).await;
    let chunked = format!(
        "POST /v1/webhooks HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n{key}\r\n65\r\n{}\r\n0\r\n\r\n",
        padded(101)
    );
    let chunked = wire.raw(chunked.as_bytes()).await;

    assert_eq!(at_the_bound.status, 200);
    assert_eq!(announced.refusal(), (413, "body_too_large".into()));
    assert_eq!(chunked.refusal(), (413, "body_too_large".into()));
}

#[tokio::test]
async fn an_encoded_body_of_the_api_is_decoded() {
    let limits = ApiLimits { body_bytes: 1000, ..ApiLimits::default() };
    let wire = Wire::start(World::default(), limits, Config::default(), Vec::new()).await;
    let send = async |encoding: &str, content: &str| {
        let key = wire.admin.presented_key.expose();
        let headers = format!(
            "authorization: Bearer {key}\r\ncontent-type: application/json\r\ncontent-encoding: {encoding}\r\n"
        );
        let mut encoder = async_compression::tokio::write::GzipEncoder::new(Vec::new());
        encoder.write_all(content.as_bytes()).await.unwrap();
        encoder.shutdown().await.unwrap();
        wire.send("POST", "/v1/webhooks", &headers, &encoder.into_inner()).await
    };
    let padded = |size: usize| format!("{:<size$}", r#"{"url": "https://example.com"}"#);

    assert_eq!(send("gzip", &padded(1000)).await.data()["url"], "https://example.com");
    assert_eq!(send("gzip", &padded(1001)).await.refusal(), (413, "body_too_large".into()));
    assert_eq!(send("br", &padded(9)).await.refusal(), (400, "malformed_content_encoding".into()));
    assert_eq!(send("zstd", &padded(9)).await.refusal(), (415, "unsupported_content_encoding".into()));
    assert_eq!(send("gzip, gzip", &padded(9)).await.refusal(), (415, "unsupported_content_encoding".into()));
}

#[tokio::test]
async fn a_body_that_never_arrives_is_408() {
    let limits = ApiLimits { body_timeout: Duration::from_millis(20), ..ApiLimits::default() };
    let wire = Wire::start(World::default(), limits, Config::default(), Vec::new()).await;
    let head = format!(
        "POST /v1/webhooks HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 10\r\nauthorization: Bearer {}\r\n\r\n{{",
        wire.admin.presented_key.expose()
    );

    assert_eq!(wire.raw(head.as_bytes()).await.refusal(), (408, "request_timeout".into()));
}

#[tokio::test]
async fn a_head_that_is_too_large_or_none_is_refused_before_the_api() {
    let config = Config { max_head_bytes: 8192, max_headers: 10, ..Config::default() };
    let wire = Wire::start(World::default(), ApiLimits::default(), config, Vec::new()).await;
    let headers = |count: usize| (0..count).map(|n| format!("x-{n}: 1\r\n")).collect::<String>();

    // `host`, `connection` and `content-length` are three.
    assert_eq!(wire.send("GET", "/healthz", &headers(7), b"").await.status, 200);
    assert_eq!(wire.send("GET", "/healthz", &headers(8), b"").await.status, 431);
    assert_eq!(wire.send("GET", &format!("/{}", "x".repeat(10_000)), "", b"").await.status, 431);
    assert_eq!(wire.raw(b"GET\r\n\r\n").await.status, 400);
    assert_eq!(wire.raw(b"\x16\x03\x01\x02\x00").await.status, 400);
}

#[tokio::test]
async fn text_that_is_not_utf8_is_400_in_paths_and_queries() {
    let wire = wire().await;

    for path in ["/v1/sources/%ff", "/v1/users/me/sources?limit=%ff", "/v1/users/me/sources?%c3%28=1"] {
        let reply = wire.get(path).await;
        assert_eq!(reply.refusal(), (400, "invalid_utf8".into()), "{path}");
    }
}

#[tokio::test]
async fn parameters_of_a_wrong_type_or_shape_are_400_and_name_the_parameter() {
    let wire = wire().await;
    let source = wire.source(component("s", json!({})), json!({})).await;
    let source = format!("/v1/sources/{}", id(&source));

    for (method, path, body, parameter) in [
        ("POST", "/v1/components", json!({"component_code": 1}), "component_code"),
        ("POST", "/v1/components", json!({"component_url": "ftp://x"}), "component_url"),
        ("POST", "/v1/components", json!({"component_code": "x", "component_url": "here"}), "component_url"),
        ("POST", "/v1/components", json!({"component_code": "x", "filename": "notes.txt"}), "filename"),
        ("PUT", source.as_str(), json!({"filename": "notes.txt"}), "filename"),
        ("POST", "/v1/components", json!({"component_code": "x", "component_files": {"a": 1}}), "component_files"),
        ("POST", "/v1/sources", json!({"component_id": "sc_1"}), "component_id"),
        ("POST", "/v1/sources", json!({"component_code": "x", "configured_props": []}), "configured_props"),
        ("POST", "/v1/sources", json!({"component_code": "x", "name": " "}), "name"),
        ("POST", "/v1/sources", json!({"component_code": "x", "name": "n".repeat(257)}), "name"),
        ("PUT", source.as_str(), json!({"active": "yes"}), "active"),
        ("POST", "/v1/subscriptions", json!({"emitter_id": "x", "listener_id": "wh_000000000000"}), "emitter_id"),
        ("POST", "/v1/subscriptions", json!({"emitter_id": "dc_*", "listener_id": "u_000000000000"}), "listener_id"),
        ("POST", "/v1/subscriptions", json!({"emitter_id": "dc_*"}), "listener_id"),
        ("POST", "/v1/subscriptions", json!({"listener_id": "wh_000000000000"}), "emitter_id"),
        (
            "POST",
            "/v1/subscriptions",
            json!({"emitter_id": "dc_*", "listener_id": "wh_000000000000", "event_name": "$x"}),
            "event_name",
        ),
        ("POST", "/v1/auto_subscriptions", json!({"listener_id": "wh_000000000000"}), "event_name"),
        ("POST", "/v1/webhooks", json!({}), "url"),
        ("POST", "/v1/webhooks", json!({"url": "example.com"}), "url"),
        ("POST", "/v1/webhooks", json!({"url": "https://example.com", "name": "n".repeat(1025)}), "name"),
        ("POST", "/v1/accounts", json!({"app": "slack"}), "credentials"),
        ("POST", "/v1/data_stores", json!({}), "name"),
        ("POST", "/v1/data_stores", json!({"name": " "}), "name"),
        ("POST", "/v1/data_stores", json!({"name": "n".repeat(101)}), "name"),
        ("POST", "/v1/data_stores", json!({"name": "ds_Ab12Cd34Ef56"}), "name"),
        ("POST", "/v1/admin/apps", json!({"name_slug": "No Slug"}), "name_slug"),
        ("POST", "/v1/admin/apps", json!({"name_slug": "x", "auth_type": "magic"}), "auth_type"),
        ("POST", "/v1/admin/users", json!({"username": "x", "email": "nowhere"}), "email"),
        ("POST", "/v1/admin/users", json!({"username": "x", "email": "a@b", "role": "king"}), "role"),
        ("GET", "/v1/users/me/sources?limit=0", json!(null), "limit"),
        ("GET", "/v1/users/me/sources?limit=ten", json!(null), "limit"),
        ("GET", "/v1/users/me/sources?limit=", json!(null), "limit"),
        ("GET", "/v1/users/me/sources?after=!", json!(null), "after"),
        ("GET", "/v1/users/me/sources?before=eA", json!(null), "before"),
    ] {
        let body = Some(body).filter(|body| !body.is_null());
        let reply = wire.call(method, path, &wire.admin, body).await;
        assert_eq!(reply.status, 400, "{method} {path} {}", reply.text);
        assert_eq!(reply.json()["details"]["parameter"], parameter, "{method} {path} {}", reply.text);
    }
}

#[tokio::test]
async fn unknown_ids_are_404_and_say_of_what() {
    let wire = wire().await;

    for (path, code) in [
        ("/v1/components/sc_000000000000", "component_not_found"),
        ("/v1/components/no-such-key", "component_not_found"),
        ("/v1/components/registry/no-such-key", "registry_component_not_found"),
        ("/v1/sources/dc_000000000000", "source_not_found"),
        ("/v1/sources/anything", "source_not_found"),
        ("/v1/sources/dc_000000000000/event_summaries", "source_not_found"),
        ("/v1/sources/dc_000000000000/logs", "source_not_found"),
        ("/v1/workflows/p_000000000000/event_summaries", "workflow_not_found"),
        ("/v1/workflows/p_000000000000/$errors/event_summaries", "workflow_not_found"),
        ("/v1/workflows/p_000000000000/%24errors/event_summaries", "workflow_not_found"),
        ("/v1/webhooks/wh_000000000000", "webhook_not_found"),
        ("/v1/accounts/apn_000000000000", "account_not_found"),
        ("/v1/data_stores/ds_000000000000", "data_store_not_found"),
        ("/v1/data_stores/nothing/records", "data_store_not_found"),
        ("/v1/admin/users/u_zzzzzzzzzzzz", "user_not_found"),
    ] {
        assert_eq!(wire.get(path).await.refusal(), (404, code.into()), "{path}");
    }
}

#[tokio::test]
async fn what_an_id_echoes_is_cut() {
    let wire = wire().await;

    let reply = wire.get(&format!("/v1/sources/{}", "x".repeat(5000))).await;

    assert!(reply.text.len() < 200, "{}", reply.text);
}

#[tokio::test]
async fn code_that_is_wrong_is_422_and_tells_what_to_mend() {
    let wire = wire().await;

    for (code, expected, detail, value) in [
        ("syntax error".to_owned(), "syntax_error", "/line", json!(1)),
        ("not json".to_owned(), "component_does_not_load", "/name", json!("SyntaxError")),
        (component("x", json!({"version": ""})), "invalid_component", "/path", json!("version")),
        (component("x", json!({"type": "action"})), "wrong_component_type", "/needs", json!("a source")),
        (component("x", json!({"props": {"n": "integer"}})), "invalid_props", "/path", json!("configured_props.n")),
        (
            component("x", json!({"props": {"t": "$.interface.timer"}})),
            "invalid_props",
            "/path",
            json!("configured_props.t"),
        ),
    ] {
        let reply = wire.post("/v1/sources", json!({"component_code": code})).await;
        assert_eq!(reply.refusal(), (422, expected.into()), "{}", reply.text);
        assert_eq!(reply.json()["details"].pointer(detail), Some(&value), "{}", reply.text);
    }
}

#[tokio::test]
async fn what_is_our_failure_is_503_and_says_when_to_try_again() {
    let wire = wire().await;

    for (code, expected) in [("registry down", "registry_unreachable"), ("sandbox down", "overloaded")] {
        let reply = wire.post("/v1/components", json!({"component_code": code})).await;
        assert_eq!(reply.refusal(), (503, expected.into()));
        assert_eq!(reply.header("retry-after").as_deref(), Some("1"));
    }
}

#[tokio::test]
async fn a_component_url_that_gives_nothing_is_422() {
    let wire = wire().await;

    let reply = wire.post("/v1/components", json!({"component_url": "https://example.com/missing.js"})).await;

    assert_eq!(reply.refusal(), (422, "component_not_fetched".into()));
}

fn json_of(wire: &Wire) -> String {
    format!("authorization: Bearer {}\r\ncontent-type: application/json\r\n", wire.admin.presented_key.expose())
}

#[tokio::test]
async fn parameters_are_small_and_code_may_be_large() {
    let wire = wire().await;
    let body = format!(r#"{{"url": "{}"}}"#, "x".repeat(2 << 20));

    let small = wire.send("POST", "/v1/webhooks", &json_of(&wire), body.as_bytes()).await;
    let large = wire.send("POST", "/v1/components", &json_of(&wire), body.as_bytes()).await;

    assert_eq!(small.refusal(), (413, "body_too_large".into()));
    assert_eq!(large.refusal(), (400, "missing_parameter".into()));
}

#[tokio::test]
async fn a_body_has_a_bounded_number_of_values() {
    let wire = wire().await;
    let body = |values: usize| format!(r#"{{"component_code": [{}0]}}"#, "0,".repeat(values - 4));
    let limit = crate::api::MAX_VALUES;

    let at_limit = wire.send("POST", "/v1/components", &json_of(&wire), body(limit).as_bytes()).await;
    let beyond = wire.send("POST", "/v1/components", &json_of(&wire), body(limit + 2).as_bytes()).await;

    assert_eq!(at_limit.refusal(), (400, "invalid_parameter".into()));
    assert_eq!(beyond.refusal(), (413, "body_too_large".into()));
}

#[tokio::test]
async fn a_large_body_for_what_is_not_there_is_not_read() {
    let wire = wire().await;
    let head = format!("{}content-length: 9000000\r\n", json_of(&wire));

    for path in ["/v1/sources/dc_000000000000/run", "/v1/components/sc_000000000000/run"] {
        // Only the head is sent.
        let request = format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{head}\r\n");
        let reply = wire.raw(request.as_bytes()).await;
        assert_eq!(reply.refusal().0, 404, "{path}");
    }
}
