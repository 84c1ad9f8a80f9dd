//! Timeouts. The clock is stopped once the server has what it needs, so it then runs ahead at once.

use std::{sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt, sync::Notify};

use crate::{
    Config, Error, Outbound, Phase, Request,
    testing::{Answers, Recorder, Server, read_head},
};

/// Answers with `answer` and then never again.
async fn stalling_server(answer: &'static [u8]) -> (Server, Arc<Notify>) {
    let asked = Arc::new(Notify::new());
    let asked_by_client = Arc::clone(&asked);
    let server = Server::listen(move |mut stream| {
        let asked = Arc::clone(&asked_by_client);
        async move {
            read_head(&mut stream).await;
            stream.write_all(answer).await.unwrap();
            asked.notify_one();
            std::future::pending::<()>().await;
        }
    })
    .await;
    (server, asked)
}

#[tokio::test]
async fn a_server_that_never_answers_times_out() {
    let (server, asked) = stalling_server(b"").await;
    let outbound = server.outbound();
    let mut request = Request::get("http://a.example/").unwrap();
    request.total_timeout = Some(Duration::from_secs(7));
    let stop_clock = async {
        asked.notified().await;
        tokio::time::pause();
    };

    let (result, ()) = tokio::join!(outbound.send(request), stop_clock);

    let error = result.err().unwrap();
    assert!(matches!(error, Error::Timeout { phase: Phase::Response, after } if after.as_secs() == 7));
}

#[tokio::test]
async fn a_timeout_without_end_is_no_panic() {
    let server = Server::start_raw("HTTP/1.1 204 No Content\r\n\r\n").await;
    let config = Config { connect_timeout: Duration::MAX, total_timeout: Duration::MAX, ..server.config() };

    let request = Request::get("http://a.example/").unwrap();
    assert!(Outbound::new(config).unwrap().send(request).await.is_ok());
}

#[tokio::test]
async fn a_body_that_stalls_times_out_and_ends() {
    let (server, _) = stalling_server(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\npart").await;
    let mut response = server.get("http://a.example/").await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "part");

    tokio::time::pause();

    let error = response.body.chunk().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Timeout { phase: Phase::Body, after } if after.as_secs() == 60));
    assert!(response.body.chunk().await.is_none());
}

#[tokio::test]
async fn a_body_that_is_there_in_time_may_be_read_late() {
    let (server, _) = stalling_server(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\npart").await;
    let mut response = server.get("http://a.example/").await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), "part");

    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;

    assert!(response.body.chunk().await.is_none());
}

#[tokio::test]
async fn a_tls_handshake_that_stalls_counts_as_connecting() {
    let accepted = Arc::new(Notify::new());
    let accepted_by_server = Arc::clone(&accepted);
    let server = Server::listen(move |stream| {
        let accepted = Arc::clone(&accepted_by_server);
        async move {
            let _stream = stream;
            accepted.notify_one();
            std::future::pending::<()>().await;
        }
    })
    .await;
    let config = Config { resolver: Answers::new(&[&["93.184.216.34"]]), ..Config::default() };
    let outbound = Outbound::with_dial(config, Recorder::new(server.address)).unwrap();
    let stop_clock = async {
        accepted.notified().await;
        tokio::time::pause();
    };

    let request = Request::get("https://a.example/").unwrap();
    let (result, ()) = tokio::join!(outbound.send(request), stop_clock);

    assert!(matches!(result, Err(Error::Timeout { phase: Phase::Connect, .. })));
}
