//! What exactly goes over the wire, and what comes back.

use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;

use crate::{
    Body, Request, Response,
    testing::{Server, code, echo, read_head, reply, text},
};

/// The head of the request as the server saw it.
async fn head_of(request: Request) -> String {
    let seen = Arc::new(Mutex::new(String::new()));
    let seen_by_server = Arc::clone(&seen);
    let server = Server::listen(move |mut stream| {
        let seen = Arc::clone(&seen_by_server);
        async move {
            let head = read_head(&mut stream).await;
            *seen.lock().unwrap() = head;
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
    .await;
    server.outbound().send(request).await.unwrap();
    seen.lock().unwrap().clone()
}

#[tokio::test]
async fn framing_belongs_to_us_whatever_the_caller_says() {
    let request = |body| {
        let mut request = Request::new("POST", "http://a.example/p?q=1#f").unwrap();
        request.body = body;
        request
            .header("Content-Length", "99")
            .header("Transfer-Encoding", "chunked")
            .header("Connection", "upgrade, x-a")
            .header("x-a", "1")
    };
    let defaults = "user-agent: wellspring/0.1.0\r\naccept: */*\r\naccept-encoding: gzip, deflate, br\r\n";

    assert_eq!(
        head_of(request(Body::from("abc"))).await,
        format!("POST /p?q=1 HTTP/1.1\r\nx-a: 1\r\n{defaults}host: a.example\r\ncontent-length: 3\r\n\r\n")
    );
    let empty = head_of(request(Body::empty())).await;
    assert!(empty.contains("content-length: 0\r\n"), "{empty}");
    assert!(!empty.contains("99") && !empty.contains("chunked"), "{empty}");
    let stream = futures_util::stream::empty::<Result<bytes::Bytes, std::io::Error>>();
    assert!(head_of(request(Body::stream(stream))).await.ends_with("transfer-encoding: chunked\r\n\r\n"));
    assert!(!head_of(Request::get("http://a.example/").unwrap()).await.contains("content-length"));
}

#[tokio::test]
async fn a_line_break_in_a_url_or_header_adds_no_line() {
    let head = head_of(Request::get("http://a.example/x\r\nx-evil: 1\r\n\r\n?a\nb").unwrap()).await;
    assert!(!head.contains("\nx-evil"), "{head}");

    let server = Server::start(echo).await;
    let request = Request::get("http://a.example/").unwrap().header("x-a", "1\r\nx-evil: 1");
    assert_eq!(code(server.outbound().send(request).await), "invalid_header");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_port_stands_in_host_only_when_it_is_unusual() {
    for (url, host) in [
        ("http://a.example:80/", "host: a.example\r\n"),
        ("https://a.example:443/", "host: a.example\r\n"),
        ("https://a.example:8443/", "host: a.example:8443\r\n"),
        ("http://A.Example/", "host: a.example\r\n"),
        ("http://[::1]:81/", "host: [::1]:81\r\n"),
    ] {
        assert!(head_of(Request::get(url).unwrap()).await.contains(host), "{url}");
    }
}

#[tokio::test]
async fn headers_come_back_in_order_with_duplicates_and_the_status_text() {
    let raw =
        "HTTP/1.1 299 Quite Fine\r\nset-cookie: a=1\r\nx-z: \u{e9}\r\nset-cookie: b=2\r\ncontent-length: 2\r\n\r\nok";
    let server = Server::start_raw(raw).await;

    let response = server.get("http://a.example/").await.unwrap();

    assert_eq!((response.status.as_u16(), response.status_text.as_str()), (299, "Quite Fine"));
    let lines: Vec<_> = response.headers.iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
    assert_eq!(
        lines,
        [("set-cookie", &b"a=1"[..]), ("set-cookie", b"b=2"), ("x-z", "\u{e9}".as_bytes()), ("content-length", b"2")]
    );
    assert_eq!(text(response).await, "ok");
}

#[tokio::test]
async fn servers_that_do_not_speak_http_are_protocol_errors() {
    let read = async |raw: &str| {
        let server = Server::start_raw(raw).await;
        server.get("http://a.example/").await?.body.collect(1 << 20).await
    };

    for raw in [
        "",
        "220 smtp ready\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
    ] {
        assert_eq!(code(read(raw).await), "protocol_error", "{raw:?}");
    }
    assert_eq!(code(read("HTTP/1.0 200 OK\r\n\r\nuntil the end").await), "ok");
}

#[tokio::test]
async fn connections_are_kept_alive_and_shared_by_clones() {
    let server = Server::start(echo).await;
    let outbound = server.outbound();
    let get = async |url: &str| text(outbound.clone().send(Request::get(url).unwrap()).await.unwrap()).await;

    get("http://a.example/1").await;
    get("http://a.example/2").await;
    assert_eq!(server.connections(), 1);

    get("http://b.example/").await;
    get("https://a.example/").await;
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_connection_that_was_authenticated_as_a_whole_is_not_reused() {
    let server = Server::start(echo).await;
    let outbound = server.outbound();
    let get = async |authorization: &'static str| {
        let request = Request::get("http://a.example/").unwrap();
        let response = outbound.send(request.header("authorization", authorization)).await;
        text(response.unwrap()).await;
        server.connections()
    };

    assert_eq!(get("NTLM TlRMTVNTUAAB").await, 1);
    assert_eq!(get("negotiate YII").await, 2);
    assert_eq!(get("Bearer x").await, 3);
    assert_eq!(get("Bearer y").await, 3);
}

#[tokio::test]
async fn a_url_may_have_65534_bytes() {
    let server = Server::start(|_| async { reply(200, &[], "") }).await;
    let start = "http://a.example/";

    for (size, expected) in [(65_534, "ok"), (65_535, "invalid_url")] {
        let url = format!("{start}{}", "x".repeat(size - start.len()));
        assert_eq!(code(server.get(&url).await), expected, "{size}");
    }
}

#[tokio::test]
async fn fetching_bytes_wants_a_200() {
    let server = Server::start(|asked: crate::testing::Asked| async move {
        match asked.uri().path() {
            "/moved" => reply(302, &[("location", "/here")], ""),
            "/here" => reply(200, &[], "found"),
            _ => reply(404, &[], "nothing"),
        }
    })
    .await;
    let outbound = server.outbound();

    assert_eq!(outbound.fetch_bytes("https://a.example/moved", 5).await.unwrap(), "found");
    let error = outbound.fetch_bytes("https://user:pw@a.example/x?token=1", 5).await.unwrap_err();
    assert_eq!(error.to_string(), "https://a.example/x answered 404 Not Found, not 200");
}

#[tokio::test]
async fn after_a_shutdown_nothing_runs_and_nothing_is_sent() {
    let server = Server::start(echo).await;
    let outbound = server.outbound();
    let response: Response = outbound.send(Request::get("http://a.example/").unwrap()).await.unwrap();
    text(response).await;

    outbound.shutdown().await;

    assert_eq!(outbound.open_tasks(), 0);
    assert_eq!(code(outbound.send(Request::get("http://a.example/").unwrap()).await), "shut_down");
}
