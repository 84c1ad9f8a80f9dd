//! Every limit at its bound.

use std::{io, time::Duration};

use admission::{Full, Scope, Share};
use async_compression::tokio::bufread::GzipEncoder;
use bytes::Bytes;
use futures_util::stream;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};

use super::decoding::read;
use crate::{
    Body, Config, Error, Outbound, Request,
    testing::{Answer, Asked, Server, code, echo, reply},
};

const LIMIT: usize = 1000;

/// Chunked, so that the length is not known beforehand.
fn chunked(size: usize) -> Answer {
    let pieces = vec![Bytes::from_static(b"x"); size];
    let frames = stream::iter(pieces.into_iter().map(|piece| Ok::<_, io::Error>(Frame::data(piece))));
    http::Response::new(BodyExt::boxed(StreamBody::new(frames)))
}

async fn read_limited(server: &Server) -> Result<usize, Error> {
    let mut request = Request::get("http://a.example/")?;
    request.max_response_bytes = Some(LIMIT as u64);
    let response = server.outbound().send(request).await?;
    Ok(response.body.collect(u64::MAX).await?.len())
}

#[tokio::test]
async fn a_response_may_have_exactly_the_limit() {
    for (size, expected) in [(LIMIT, "ok"), (LIMIT + 1, "too_large")] {
        let with_length = Server::start(move |_| async move { reply(200, &[], vec![b'x'; size]) }).await;
        let without_length = Server::start(move |_| async move { chunked(size) }).await;
        let packed = read(GzipEncoder::new(&vec![b'x'; size][..])).await;
        let decoded = Server::start(move |_| {
            let packed = packed.clone();
            async move { reply(200, &[("content-encoding", "gzip")], packed) }
        })
        .await;

        for server in [with_length, without_length, decoded] {
            assert_eq!(code(read_limited(&server).await), expected, "{size}");
        }
    }
}

#[tokio::test]
async fn a_decompression_bomb_stops_at_the_limit() {
    let bomb = read(GzipEncoder::new(&vec![0; 16 << 20][..])).await;
    assert!(bomb.len() < 32 << 10);
    let server = Server::start(move |_| {
        let bomb = bomb.clone();
        async move { reply(200, &[("content-encoding", "gzip")], bomb) }
    })
    .await;

    assert_eq!(code(read_limited(&server).await), "too_large");
}

#[tokio::test]
async fn data_that_decodes_to_nothing_is_limited_too() {
    let nothing = read(GzipEncoder::new(&b""[..])).await;
    let endless = nothing.repeat((80 << 10) / nothing.len());
    let server = Server::start(move |_| {
        let endless = endless.clone();
        async move { reply(200, &[("content-encoding", "gzip")], endless) }
    })
    .await;

    assert_eq!(code(read_limited(&server).await), "too_large");
}

#[tokio::test]
async fn collecting_and_fetching_have_limits_of_their_own() {
    let server = Server::start(|_| async { reply(200, &[], vec![b'x'; LIMIT]) }).await;
    let collect = async |limit_bytes| server.get("http://a.example/").await?.body.collect(limit_bytes).await;
    let fetch = async |limit_bytes| server.outbound().fetch_bytes("http://a.example/", limit_bytes).await;

    assert_eq!(code(collect(LIMIT as u64).await), "ok");
    assert_eq!(code(collect(LIMIT as u64 - 1).await), "too_large");
    assert_eq!(code(fetch(LIMIT as u64).await), "ok");
    assert_eq!(code(fetch(LIMIT as u64 - 1).await), "too_large");
}

#[tokio::test]
async fn a_request_may_have_exactly_the_limit() {
    let server = Server::start(echo).await;
    let send = async |body| {
        let mut request = Request::new("POST", "http://a.example/")?;
        request.max_request_bytes = Some(LIMIT as u64);
        request.body = body;
        server.outbound().send(request).await
    };
    let piece = |_| Ok::<_, io::Error>(Bytes::from_static(b"x"));
    let streamed = |size| Body::stream(stream::iter((0..size).map(piece)));

    assert_eq!(code(send(Body::from(vec![b'x'; LIMIT])).await), "ok");
    assert_eq!(code(send(Body::from(vec![b'x'; LIMIT + 1])).await), "too_large");
    assert_eq!(code(send(streamed(LIMIT)).await), "ok");
    assert_eq!(code(send(streamed(LIMIT + 1)).await), "too_large");
}

#[tokio::test]
async fn response_headers_may_have_exactly_the_limit() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-padding: ";
    let fixed_bytes = "content-length0x-padding".len() + 8;
    let limit_bytes = 200;
    for (padding, expected) in [(limit_bytes - fixed_bytes, "ok"), (limit_bytes - fixed_bytes + 1, "too_large")] {
        let server = Server::start_raw(format!("{head}{}\r\n\r\n", "x".repeat(padding))).await;
        let config = Config { max_header_bytes: limit_bytes, ..server.config() };

        let result = Outbound::new(config).unwrap().send(Request::get("http://a.example/").unwrap()).await;

        assert_eq!(code(result), expected, "{padding}");
    }
}

#[tokio::test]
async fn endless_response_headers_are_cut_off_while_they_arrive() {
    let long = Server::start_raw(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(100 << 10))).await;
    let many = Server::start_raw(format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(257))).await;
    let enough = Server::start_raw(format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(256))).await;

    assert_eq!(code(long.get("http://a.example/").await), "too_large");
    assert_eq!(code(many.get("http://a.example/").await), "too_large");
    assert_eq!(code(enough.get("http://a.example/").await), "ok");
}

#[tokio::test]
async fn connections_are_limited_and_given_back() {
    let server = Server::start(|asked: Asked| async move {
        let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, io::Error>>());
        if asked.uri().path() == "/" { http::Response::new(BodyExt::boxed(body)) } else { reply(200, &[], "") }
    })
    .await;
    let timeout = Duration::from_millis(300);
    let outbound =
        Outbound::new(Config { connections: Share::new(1, 1), connect_timeout: timeout, ..server.config() }).unwrap();
    let send = async |url| outbound.send(Request::get(url).unwrap()).await;

    let held = send("http://a.example/").await.unwrap();
    assert_eq!(code(send("http://b.example/x").await), "too_many_connections");
    drop(held);

    assert_eq!(code(send("http://b.example/x").await), "ok");
}

#[tokio::test]
async fn a_tenant_has_its_share_of_connections_and_no_connection_of_another() {
    let server = Server::start(|asked: Asked| async move {
        let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, io::Error>>());
        if asked.uri().path() == "/" { http::Response::new(BodyExt::boxed(body)) } else { reply(200, &[], "") }
    })
    .await;
    let timeout = Duration::from_millis(300);
    let config = Config { connections: Share::new(3, 2), connect_timeout: timeout, ..server.config() };
    let outbound = Outbound::new(config).unwrap();
    let (greedy, modest) = (outbound.of_tenant("greedy"), outbound.of_tenant("modest"));
    let get = async |outbound: &Outbound, url| outbound.send(Request::get(url).unwrap()).await;

    let _held = [get(&greedy, "http://a.example/").await.unwrap(), get(&greedy, "http://a.example/").await.unwrap()];
    let third = get(&greedy, "http://a.example/x").await.err().unwrap();
    assert!(matches!(third, Error::Full(Full { what: "connections", scope: Scope::Tenant })), "{third:?}");

    assert_eq!(code(get(&modest, "http://a.example/x").await), "ok");
    assert_eq!(server.connections(), 3, "a connection of its own");
}

#[tokio::test]
async fn connections_that_are_not_used_make_way() {
    let server = Server::start(|_: Asked| async move { reply(200, &[], "") }).await;
    let config = Config { connections: Share::new(3, 2), ..server.config() };
    let outbound = Outbound::new(config).unwrap();

    for tenant in ["a", "b", "c"] {
        for host in ["http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/"] {
            let answered = outbound.of_tenant(tenant).send(Request::get(host).unwrap()).await.unwrap();
            answered.body.collect(LIMIT as u64).await.unwrap();
        }
    }
}
