//! Dropping is cancelling: the server sees the connection close.

use std::sync::Arc;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};

use crate::{
    Request,
    testing::{Server, read_head},
};

/// Writes `answer`, then tells when the client has hung up.
async fn watching_server(answer: &'static [u8]) -> (Server, Arc<Notify>, Arc<Notify>) {
    let (asked, closed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (asked_by, closed_by) = (Arc::clone(&asked), Arc::clone(&closed));
    let server = Server::listen(move |mut stream| {
        let (asked, closed) = (Arc::clone(&asked_by), Arc::clone(&closed_by));
        async move {
            read_head(&mut stream).await;
            stream.write_all(answer).await.unwrap();
            asked.notify_one();
            let _ = stream.read(&mut [0]).await;
            closed.notify_one();
        }
    })
    .await;
    (server, asked, closed)
}

#[tokio::test]
async fn dropping_the_request_closes_the_connection() {
    let (server, asked, closed) = watching_server(b"").await;
    let outbound = server.outbound();
    {
        let send = outbound.send(Request::get("http://a.example/").unwrap());
        tokio::select! {
            _ = send => panic!("nothing was answered"),
            () = asked.notified() => {}
        }
    }

    closed.notified().await;
}

#[tokio::test]
async fn dropping_the_body_closes_the_connection() {
    let (server, _, closed) = watching_server(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\npart").await;
    let mut response = server.get("http://a.example/").await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "part");

    drop(response);

    closed.notified().await;
}

#[tokio::test]
async fn shutting_down_closes_what_is_in_use() {
    let (server, _, closed) = watching_server(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\npart").await;
    let outbound = server.outbound();
    let mut response = outbound.send(Request::get("http://a.example/").unwrap()).await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "part");

    outbound.shutdown().await;

    closed.notified().await;
    assert_eq!(response.body.chunk().await.unwrap().unwrap_err().code(), "protocol_error");
    assert!(response.body.chunk().await.is_none());
}
