//! Server-sent events of a source: `GET /v1/sources/{id}/sse`, also without `/v1`.
//!
//! Each reader has a task that reads ahead by a few events at most. Who does not read is disconnected, and resumes with
//! `Last-Event-ID` from what is kept.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::http::{HeaderName, request};
use hyper::{Method, Request, Response, StatusCode};
use platform::flow::{Follower, Following};
use platform::manage::events::EventSummary;
use platform::{Caller, Platform};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::api::{Refusal, parse_path, parse_query, refuse};
use crate::body::{Body, BoxError, full};
use crate::plugin::Plugin;
use crate::route::Access;

/// Events that wait for a reader; each may be half a megabyte.
const AHEAD: usize = 4;
/// Design: "comment `:sse-handshake` at once and every 15 s".
const COMMENT: &str = ":sse-handshake\n\n";
const COMMENT_EVERY_MS: u64 = 15_000;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub struct Streams {
    platform: Platform,
    config: Config,
    places: Arc<Semaphore>,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Readers at once.
    pub max_readers: usize,
    /// How long an event may wait for its reader.
    pub patience_ms: u64,
}

/// One reader: what it is sent, and when that ends.
struct Reader {
    platform: Platform,
    follower: Follower,
    sender: mpsc::Sender<Bytes>,
    patience_ms: u64,
    /// Freed when the reader is gone.
    _place: OwnedSemaphorePermit,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self { max_readers: 1000, patience_ms: 30_000 }
    }
}

#[async_trait]
impl Plugin for Streams {
    fn claims(&self, head: &request::Parts) -> Option<Access> {
        (head.method == Method::GET && source_id(head).is_some()).then_some(Access::Key)
    }

    async fn handle(&self, request: Request<Body>, caller: Option<Caller>) -> Response<Body> {
        let (head, _) = request.into_parts();
        let now_ms = self.platform.clock.now_ms();
        let (Some(id), Some(caller)) = (source_id(&head), caller) else {
            return refuse(Refusal::NoRoute, now_ms);
        };
        let query = match parse_query(head.uri.query().unwrap_or_default()) {
            Ok(query) => query,
            Err(refusal) => return refuse(refusal, now_ms),
        };
        let event_name = query.get("event_name").and_then(|name| name.as_str()).unwrap_or_default();
        let after = head.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
        let following = Following { event_name, after };
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return overloaded();
        };
        match Follower::of_source(&caller, &self.platform, &id, following).await {
            Ok(follower) => self.open(follower, place),
            Err(error) => refuse(error, now_ms),
        }
    }
}

// === impl Streams ===

impl Streams {
    /// Streams end with `shutdown`: their readers come back to another host.
    pub fn new(platform: Platform, config: Config, shutdown: CancellationToken) -> Self {
        let places = Arc::new(Semaphore::new(config.max_readers));
        Self { platform, config, places, tasks: TaskTracker::new(), shutdown }
    }

    fn open(&self, follower: Follower, place: OwnedSemaphorePermit) -> Response<Body> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let (platform, patience_ms) = (self.platform.clone(), self.config.patience_ms);
        let reader = Reader { platform, follower, sender, patience_ms, _place: place };
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            // Dropping a reader in the middle loses nothing: it resumes from the last event it got.
            tokio::select! {
                () = shutdown.cancelled() => {}
                () = reader.serve() => {}
            }
        });
        let chunks = stream::unfold(receiver, |mut receiver| async move {
            let chunk = receiver.recv().await?;
            Some((Ok::<_, BoxError>(Frame::data(chunk)), receiver))
        });
        let mut response = Response::new(StreamBody::new(chunks).boxed_unsync());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Proxies that collect answers would hold events back.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        response
    }
}

// === impl Reader ===

impl Reader {
    async fn serve(mut self) {
        let mut is_read = self.send(Bytes::from_static(COMMENT.as_bytes())).await;
        let mut comment_ms = self.platform.clock.now_ms().saturating_add(COMMENT_EVERY_MS);
        while is_read {
            // All are cancel-safe: a follower gives again what was not taken.
            is_read = tokio::select! {
                () = self.sender.closed() => false,
                found = self.follower.next() => match found {
                    Ok(events) => self.send_all(&events).await,
                    Err(error) => {
                        tracing::warn!(%error, "a stream ended early");
                        false
                    }
                },
                () = self.platform.clock.sleep_until(comment_ms) => {
                    comment_ms = self.platform.clock.now_ms().saturating_add(COMMENT_EVERY_MS);
                    self.send(Bytes::from_static(COMMENT.as_bytes())).await
                }
            };
        }
    }

    async fn send_all(&self, events: &[EventSummary]) -> bool {
        for event in events {
            let Ok(data) = serde_json::to_string(event) else {
                return false;
            };
            if !self.send(format!("id: {}\ndata: {data}\n\n", event.id).into()).await {
                return false;
            }
        }
        true
    }

    /// Whether the reader took it in time.
    async fn send(&self, chunk: Bytes) -> bool {
        let until_ms = self.platform.clock.now_ms().saturating_add(self.patience_ms);
        tokio::select! {
            biased;
            sent = self.sender.send(chunk) => sent.is_ok(),
            () = self.platform.clock.sleep_until(until_ms) => false,
        }
    }
}

fn source_id(head: &request::Parts) -> Option<String> {
    let segments = parse_path(head.uri.path()).ok()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["v1", "sources", id, "sse"] | ["sources", id, "sse"] => Some((*id).to_owned()),
        _ => None,
    }
}

fn overloaded() -> Response<Body> {
    let body = r#"{"error":"too many streams are open","code":"overloaded"}"#;
    let mut response = Response::new(full(body));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests;
