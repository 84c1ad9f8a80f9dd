//! Server-sent events of a source or a workflow: `GET /v1/sources/{id}/sse`, `GET /v1/workflows/{workflow_id}/sse`, also
//! without `/v1`.
//!
//! ```text
//! :sse-handshake                                    at once, with where the stream begins, and every 15 s
//! id: 1750593599000-0
//!
//! id: 1750593600000-0                               one for each event
//! data: {"id":…,"indexed_at_ms":…,"event":…,"metadata":…}
//!
//! id: 1750593600000-0                               the last of a stream that could not give everything, but for `not_kept`
//! event: gap
//! data: {"last_event_id":"1750593600000-0","reason":"slow_reader","resume":…,"list":…}
//!
//! event: end                                        the last of a stream that is over
//! data: {"reason":"source_deleted","last_event_id":"1750593600000-0"}
//! ```
//!
//! Everything that is committed while a reader is connected is sent, in order, or the stream ends with a gap. One that resumes
//! after more came than is kept is told so by a gap that says `not_kept`, and gets what is kept. Each reader
//! has a task that reads ahead by one event; the bytes of an event are the same memory for all readers.

mod reader;

use std::sync::{Arc, OnceLock};

use admission::{Pool, Share, Taken};
use async_trait::async_trait;
use bytes::Bytes;
use domain::keys::Scope;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::http::{HeaderName, request};
use hyper::{Method, Request, Response};
use metrics::Family;
use platform::flow::{Follower, Following};
use platform::{Caller, Platform};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::reader::{Ended, Place, Reader};
use crate::api::{Refusal, parse_path, parse_query, refuse};
use crate::body::{Body, BoxError};
use crate::plugin::Plugin;
use crate::route::Access;

/// The template of its path in logs, metrics and the table of routes.
pub(crate) const ROUTE: &str = "/v1/sources/{id}/sse";
/// The same of workflows.
pub(crate) const WORKFLOW_ROUTE: &str = "/v1/workflows/{workflow_id}/sse";
/// Events that wait for a reader; each may be half a megabyte.
const AHEAD: usize = 1;
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub struct Streams {
    platform: Platform,
    config: Config,
    places: Pool,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Streams that are open at once.
    pub streams: Share,
    /// How long an event may wait for its reader.
    pub patience_ms: u64,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self { streams: Share::new(2000, 200), patience_ms: 30_000 }
    }
}

#[async_trait]
impl Plugin for Streams {
    fn claims(&self, head: &request::Parts) -> Option<Access> {
        (head.method == Method::GET && emitter(head).is_some()).then_some(Access::Key(Scope::Read))
    }

    fn route(&self) -> &'static str {
        ROUTE
    }

    async fn handle(&self, request: Request<Body>, caller: Option<Caller>) -> Response<Body> {
        let (head, _) = request.into_parts();
        let now_ms = self.platform.clock().now_ms();
        let (Some(emitter), Some(caller)) = (emitter(&head), caller) else {
            return refuse(Refusal::NoRoute, now_ms);
        };
        let query = match parse_query(head.uri.query().unwrap_or_default()) {
            Ok(query) => query,
            Err(refusal) => return refuse(refusal, now_ms),
        };
        let event_name = query.get("event_name").and_then(|name| name.as_str()).unwrap_or_default();
        let after = head.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).filter(|id| !id.is_empty());
        let place = match self.places.take(caller.tenant.as_str(), 1) {
            Ok(place) => place,
            Err(full) => return refuse(Refusal::Full(full), now_ms),
        };
        let following = Following { event_name, after };
        let follower = match &emitter {
            Emitter::Source(id) => Follower::of_source(&caller, &self.platform, id, following).await,
            Emitter::Workflow(id) => Follower::of_workflow(&caller, &self.platform, id, following).await,
        };
        match follower {
            Ok(follower) => self.open(&caller, follower, &emitter, event_name, place),
            Err(error) => refuse(error, now_ms),
        }
    }
}

// === impl Streams ===

impl Streams {
    /// How many are open and how often there was no room for another.
    pub fn families(&self) -> Vec<Family> {
        self.places.families()
    }

    /// Streams end with `shutdown`: their readers come back to another host.
    pub fn new(platform: Platform, config: Config, shutdown: CancellationToken) -> Self {
        let places = Pool::new("streams", config.streams);
        Self { platform, config, places, tasks: TaskTracker::new(), shutdown }
    }

    fn open(
        &self,
        caller: &Caller,
        follower: Follower,
        emitter: &Emitter,
        event_name: &str,
        place: Taken,
    ) -> Response<Body> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let path = format!("/v1/{}/{}", emitter.noun(), follower.emitter());
        let followed = (follower, Place { path, event_name: event_name.to_owned() });
        let mut reader = Reader::new(&self.platform, followed, sender, self.config.patience_ms);
        reader.sees_endpoints = caller.sees_endpoints();
        let (shutdown, final_frame) = (self.shutdown.clone(), Arc::new(OnceLock::new()));
        let body = body(receiver, final_frame.clone());
        self.tasks.spawn(async move {
            // Dropping a reader in the middle loses nothing: it resumes from the last event it got.
            let ended = tokio::select! {
                () = shutdown.cancelled() => Ended::Stopping,
                ended = reader.serve() => ended,
            };
            if let Some(frame) = reader.last_frame(ended) {
                let _ = final_frame.set(frame);
            }
            // Only now, so that the body finds the final frame.
            drop(reader);
            drop(place);
        });
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // Proxies that collect answers would hold events back.
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        response
    }
}

/// What the task sends, and then the final frame: it takes no room in the channel, so that a reader that was too slow
/// still gets it when it reads on.
fn body(receiver: mpsc::Receiver<Bytes>, final_frame: Arc<OnceLock<Bytes>>) -> Body {
    let chunks = stream::unfold(Some((receiver, final_frame)), |state| async move {
        let (mut receiver, final_frame) = state?;
        if let Some(chunk) = receiver.recv().await {
            return Some((Ok::<_, BoxError>(Frame::data(chunk)), Some((receiver, final_frame))));
        }
        let last = final_frame.get()?.clone();
        Some((Ok(Frame::data(last)), None))
    });
    StreamBody::new(chunks).boxed_unsync()
}

/// What is followed, as the path names it.
enum Emitter {
    Source(String),
    Workflow(String),
}

// === impl Emitter ===

impl Emitter {
    fn noun(&self) -> &'static str {
        match self {
            Self::Source(_) => "sources",
            Self::Workflow(_) => "workflows",
        }
    }
}

fn emitter(head: &request::Parts) -> Option<Emitter> {
    let segments = parse_path(head.uri.path()).ok()?;
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["v1", "sources", id, "sse"] | ["sources", id, "sse"] => Some(Emitter::Source((*id).to_owned())),
        ["v1", "workflows", id, "sse"] | ["workflows", id, "sse"] => Some(Emitter::Workflow((*id).to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
