//! The server of a receiver, to which webhooks are delivered.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::network::home;

const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Receiver {
    address: SocketAddr,
    _stop: DropGuard,
}

/// Deliveries in the order they came.
pub struct Inbox(mpsc::UnboundedReceiver<Received>);

#[derive(Clone, Debug)]
pub struct Received {
    pub method: String,
    pub path: String,
    /// What follows `?`.
    pub query: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    /// Nothing is answered until the sender goes away.
    pub hangs: bool,
}

type Answering = dyn Fn(&Received) -> Answer + Send + Sync;

// === impl Receiver ===

impl Receiver {
    /// Answers as it is told until it is dropped.
    pub async fn start(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((home(), 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, answer) = (CancellationToken::new(), Arc::new(answer) as Arc<Answering>);
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(listener, answer, stop.clone())));
        Self { address, _stop: stop.drop_guard() }
    }

    /// The same, and hands over everything it got.
    pub async fn with_inbox(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> (Self, Inbox) {
        let (sender, inbox) = mpsc::unbounded_channel();
        let receiver = Self::start(move |received| {
            let answer = answer(received);
            // A test that has ended wants no more.
            let _ = sender.send(received.clone());
            answer
        });
        (receiver.await, Inbox(inbox))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

async fn accept(listener: TcpListener, answer: Arc<Answering>, stop: CancellationToken) {
    while let Ok((stream, _)) = listener.accept().await {
        let answer = answer.clone();
        let service = service_fn(move |request| take(request, answer.clone()));
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(stop.clone().run_until_cancelled_owned(connection));
    }
}

async fn take(request: Request<Incoming>, answer: Arc<Answering>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut response = Response::new(Full::new(Bytes::new()));
    // A sender that died in the middle has sent nothing.
    let Ok(body) = body.collect().await else {
        *response.status_mut() = hyper::StatusCode::BAD_REQUEST;
        return Ok(response);
    };
    let received = Received {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body: body.to_bytes(),
    };
    let Answer { status, headers, body, hangs } = answer(&received);
    if hangs {
        std::future::pending::<()>().await;
    }
    *response.body_mut() = Full::new(body);
    *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap();
    for (name, value) in headers {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    Ok(response)
}

// === impl Inbox ===

impl Inbox {
    pub async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(TIMEOUT, self.0.recv()).await;
        next.expect("a delivery in time").expect("the receiver lives")
    }

    /// What has come and was not taken yet.
    pub fn rest(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

// === impl Received ===

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// By the library that receivers use, not by our own code.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        Webhook::new(secret).is_ok_and(|webhook| webhook.verify(&self.body, &self.headers).is_ok())
    }
}

// === impl Answer ===

impl Answer {
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), hangs: false }
    }

    pub fn never() -> Self {
        Self { hangs: true, ..Self::status(200) }
    }

    pub fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    pub fn retry_after(self, seconds: u64) -> Self {
        Self { headers: vec![("retry-after", seconds.to_string())], ..self }
    }
}
