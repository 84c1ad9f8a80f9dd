//! The front, top to bottom: what happens to a connection and to each request on it before the API sees it.
//!
//! ```text
//! listener          at most `max_connections` at once; more wait in the kernel's queue
//! └ connection      HTTP/1.1; bounds on the head, on the time it may take, and on how long an answer may wait to be read;
//!   │               polled in turns, those of the tenant whom its last request was for
//!   └ trace         one span per request, one line per answer
//!     └ request id  `x-request-id`: the client's own, or a new one; in the span and in the answer
//!       └ panic     a panic is a 500 with the request id, and the connection lives on
//!         └ app     route, key, body (limits and timeout), use case
//! ```
//!
//! Shutdown: say so at `/readyz` and close connections after their answer ([`App::drain`]), so that balancers go elsewhere;
//! then stop accepting, finish what is under way, and wait for the use cases.

use std::any::Any;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use admission::{Turn, TurnOwner, Turns};
use async_recursion::async_recursion as boxed;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, RETRY_AFTER};
use hyper::http::{HeaderName, request};
use hyper::server::conn::http1;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use platform::ports::Entropy;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::{ServiceBuilder, service_fn};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::trace::TraceLayer;
use tracing::Span;

use crate::app::{App, broken};
use crate::body::{Body, Peer, full};
use crate::stall::Stalling;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// hyper takes no less.
const MIN_HEAD_BYTES: usize = 8 << 10;

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub max_connections: usize,
    pub max_headers: usize,
    /// Of the whole head.
    pub max_head_bytes: usize,
    /// How long a head may take, and how long a connection may lie idle.
    pub head_timeout: Duration,
    /// How long a client may leave an answer unread.
    pub stall_timeout: Duration,
    /// How long shutdown waits for what is under way.
    pub drain_timeout: Duration,
}

/// Serves until `shutdown` is cancelled, then drains. Returns when nothing is left, or when the time for it is over.
#[boxed]
pub async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    config: Config,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(config.max_connections));
    let turns = Turns::for_threads();
    let graceful = GracefulShutdown::new();
    let connections = TaskTracker::new();
    // Ends the connections that would not drain.
    let abandoned = CancellationToken::new();
    // Cancel safe: a permit or a connection that was not taken is not lost.
    while let Some((stream, peer, place)) = tokio::select! {
        () = shutdown.cancelled() => None,
        accepted = accept(&listener, &places) => Some(accepted),
    } {
        let turn = turns.of(&peer.ip().to_string());
        let connection = Connection { app: app.clone(), peer, turn, place, config };
        let serving = connection.serve(stream, graceful.watcher());
        let abandoned = abandoned.clone();
        connections.spawn(async move { abandoned.run_until_cancelled(serving).await });
    }
    drop(listener);
    app.drain();
    connections.close();
    app.tasks.close();
    let drained = tokio::time::timeout(config.drain_timeout, async {
        graceful.shutdown().await;
        connections.wait().await;
        app.tasks.wait().await;
    });
    if drained.await.is_err() {
        tracing::warn!("requests were still under way when the time to drain was over");
        abandoned.cancel();
        connections.wait().await;
    }
    Ok(())
}

/// Answers while the server is not ready yet: that it is alive, and that it cannot be sent work. Returns the listener when
/// `ready` is cancelled; what connects in between waits in the kernel's queue.
#[boxed]
pub async fn answer_while_starting(listener: TcpListener, ready: CancellationToken) -> TcpListener {
    /// A balancer and a few impatient clients.
    const CONNECTIONS: usize = 64;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    // Cancel safe: a permit or a connection that was not taken is not lost.
    while let Some((stream, _, place)) = tokio::select! {
        () = ready.cancelled() => None,
        accepted = accept(&listener, &places) => Some(accepted),
    } {
        let ready = ready.clone();
        connections.spawn(async move {
            // A connection that sends nothing does not hold up the start.
            ready.run_until_cancelled(say_not_yet(stream)).await;
            drop(place);
        });
    }
    connections.close();
    connections.wait().await;
    listener
}

/// One request, and its answer.
async fn say_not_yet(stream: TcpStream) {
    const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
    let service = hyper::service::service_fn(|request: Request<Incoming>| {
        let answer = not_yet(request.uri().path());
        async move { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        // The client's doing: a head that is none, a connection that broke off.
        tracing::debug!(%error, "a connection ended early");
    }
}

fn not_yet(path: &str) -> Response<Body> {
    if path == "/healthz" {
        return Response::new(full("ok\n"));
    }
    let mut response = Response::new(full("not ready: the server is starting\n"));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// The next connection, when there is a place for it.
#[expect(clippy::disallowed_methods, reason = "back-off when the system has no file descriptors left")]
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    /// Out of file descriptors, mostly: accepting again at once would only spin.
    const PAUSE: Duration = Duration::from_millis(100);
    // The semaphore is never closed.
    let place = places.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

struct Connection {
    app: Arc<App>,
    peer: SocketAddr,
    /// Of the tenant whom its last request was for: one with a hundred ready connections is few polls ahead of the others.
    turn: Turn,
    /// Freed with the connection.
    place: Option<OwnedSemaphorePermit>,
    config: Config,
}

// === impl Connection ===

impl Connection {
    async fn serve(self, stream: TcpStream, watcher: Watcher) {
        let Self { app, peer, turn, place, config } = self;
        // Small answers leave at once; failing to ask for it costs latency only.
        let _ = stream.set_nodelay(true);
        let metrics = app.clone();
        metrics.metrics().connections.inc();
        let service = TowerToHyperService::new(stack(app, peer, turn.owner()));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .max_headers(config.max_headers)
            .max_buf_size(config.max_head_bytes.max(MIN_HEAD_BYTES))
            .header_read_timeout(config.head_timeout)
            .serve_connection(TokioIo::new(Stalling::new(stream, config.stall_timeout)), service);
        if let Err(error) = turn.polling(Box::pin(watcher.watch(connection))).await {
            // The client's doing: a head that is none, a connection that broke off.
            tracing::debug!(%error, "a connection ended early");
        }
        metrics.metrics().connections.dec();
        drop(place);
    }
}

type HyperService = tower::util::BoxCloneSyncService<Request<Incoming>, Response<Body>, Infallible>;

/// The layers of one connection, outermost first.
fn stack(app: Arc<App>, peer: SocketAddr, turns: TurnOwner) -> HyperService {
    let new_request_id = NewRequestId(app.platform().entropy().clone());
    let api = service_fn(move |mut request: Request<Body>| {
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(turns.clone());
        let app = app.clone();
        async move { Ok::<_, Infallible>(app.handle(request).await) }
    });
    let service = ServiceBuilder::new()
        .map_request(|request: Request<Incoming>| request.map(|body| body.map_err(Into::into).boxed_unsync()))
        .map_response(|response: Response<_>| {
            response.map(|body: tower_http::trace::ResponseBody<_, _>| body.map_err(Into::into).boxed_unsync())
        })
        .layer(SetRequestIdLayer::new(REQUEST_ID, new_request_id))
        .layer(TraceLayer::new_for_http().make_span_with(span).on_response(answered).on_request(()))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(CatchPanicLayer::custom(panicked))
        .service(api);
    HyperService::new(service)
}

/// What the connection of a request does from now on is this tenant's.
pub(crate) fn take_turns_of(tenant: &str, head: &request::Parts) {
    if let Some(turns) = head.extensions.get::<TurnOwner>() {
        turns.set(tenant);
    }
}

fn span(request: &Request<Body>) -> Span {
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    // Neither the path nor the query: they hold keys of endpoints, and whatever clients put there. The route is told when
    // it is found.
    tracing::info_span!("request", http.method = %request.method(), http.route = tracing::field::Empty, request.id = id)
}

fn answered<B>(response: &Response<B>, took: Duration, _span: &Span) {
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    tracing::info!(http.status = response.status().as_u16(), duration_ms, "answered");
}

fn panicked(_panic: Box<dyn Any + Send>) -> Response<Body> {
    // The panic hook has written what and where.
    broken()
}

/// Taken over from the client when it sends one, so that its logs and ours meet.
#[derive(Clone)]
struct NewRequestId(Arc<dyn Entropy>);

impl MakeRequestId for NewRequestId {
    fn make_request_id<B>(&mut self, _request: &Request<B>) -> Option<RequestId> {
        let id = format!("{:016x}", u64::from_be_bytes(self.0.bytes()));
        HeaderValue::from_str(&id).ok().map(RequestId::from)
    }
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            max_connections: 10_000,
            max_headers: 100,
            max_head_bytes: 64 << 10,
            head_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(30),
        }
    }
}
