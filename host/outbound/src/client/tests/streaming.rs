//! Bodies that are made while they travel.

use std::io;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use tokio::sync::mpsc;

use crate::{
    Body, Request,
    testing::{Answer, Asked, Server, code},
};

/// Sends each piece back as it comes.
async fn mirror(asked: Asked) -> Answer {
    let pieces = BodyDataStream::new(asked.into_body());
    let frames = pieces.map(|piece| piece.map(Frame::data).map_err(io::Error::other));
    http::Response::new(BodyExt::boxed(StreamBody::new(Box::pin(frames))))
}

#[tokio::test]
async fn both_directions_flow_at_once() {
    let server = Server::start(mirror).await;
    let (sender, mut receiver) = mpsc::channel::<Result<Bytes, io::Error>>(1);
    let mut request = Request::new("POST", "http://a.example/").unwrap();
    request.body = Body::stream(stream::poll_fn(move |context| receiver.poll_recv(context)));

    let mut response = server.outbound().send(request).await.unwrap();
    for piece in ["one", "two", "three"] {
        sender.send(Ok(Bytes::from(piece))).await.unwrap();
        assert_eq!(response.body.chunk().await.unwrap().unwrap(), piece);
    }
    drop(sender);

    assert!(response.body.chunk().await.is_none());
}

#[tokio::test]
async fn a_body_that_breaks_off_breaks_the_request() {
    let server = Server::start(crate::testing::echo).await;
    let mut request = Request::new("POST", "http://a.example/").unwrap();
    request.body = Body::stream(stream::iter([Ok(Bytes::from("part")), Err(io::Error::other("disk on fire"))]));

    let error = server.outbound().send(request).await.err().unwrap();

    assert_eq!(error.code(), "request_body_failed");
    assert_eq!(error.to_string(), "the request body broke off: disk on fire");
}

#[tokio::test]
async fn a_streamed_body_is_not_sent_twice() {
    let server = Server::start(|asked: Asked| async move {
        let _ = asked.into_body().collect().await;
        crate::testing::reply(307, &[("location", "/again")], "")
    })
    .await;
    let mut request = Request::new("POST", "http://a.example/").unwrap();
    request.body = Body::stream(stream::iter([Ok::<_, io::Error>(Bytes::from("once"))]));

    assert_eq!(code(server.outbound().send(request).await), "body_not_replayable");
}
