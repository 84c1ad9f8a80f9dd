//! The operator socket: the API without a key, on a Unix socket in the data folder.
//!
//! The permissions of the folder are the authentication: a process that can open the socket can also read the store. Routes
//! and checks are those of the front. `Wellspring-User` names the user that the operator acts for; without it the caller is
//! the operator.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::http::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use platform::manage::users::on_behalf_of;
use platform::{Caller, Error};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::body::Body;

pub const USER: HeaderName = HeaderName::from_static("wellspring-user");

/// One operator, a few scripts.
const CONNECTIONS: usize = 16;
/// How long a head may take, and how long a connection may lie idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Among the extensions of a request that needs no key. Only this file puts it there.
#[derive(Clone)]
pub(crate) struct Trusted(pub(crate) Caller);

/// Serves until `shutdown` is cancelled; what is under way is cut off then, as a command can be repeated.
#[boxed]
pub async fn serve(listener: UnixListener, app: Arc<App>, shutdown: CancellationToken) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    // Cancel safe: a permit or a connection that was not taken is not lost.
    while let Some(accepted) = shutdown.run_until_cancelled(accept(&listener, &permits)).await {
        let Ok((stream, permit)) = accepted else {
            continue;
        };
        let (app, shutdown) = (app.clone(), shutdown.clone());
        connections.spawn(async move {
            shutdown.run_until_cancelled(converse(stream, app)).await;
            drop(permit);
        });
    }
    connections.close();
    connections.wait().await;
}

/// One request of the operator, also without a socket.
#[boxed]
pub async fn answer(app: Arc<App>, mut request: Request<Body>) -> Response<Body> {
    match caller(&app, request.headers().get(USER).cloned()).await {
        Ok(caller) => {
            request.extensions_mut().insert(Trusted(caller));
            app.handle(request).await
        }
        Err(error) => app.refuse_error(error),
    }
}

async fn accept(
    listener: &UnixListener,
    permits: &Arc<Semaphore>,
) -> io::Result<(UnixStream, Option<tokio::sync::OwnedSemaphorePermit>)> {
    // The semaphore is never closed.
    let permit = permits.clone().acquire_owned().await.ok();
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}

async fn converse(stream: UnixStream, app: Arc<App>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (app, request) = (app.clone(), request.map(|body| body.map_err(Into::into).boxed_unsync()));
        async move { Ok::<_, std::convert::Infallible>(answer(app, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of the operator ended early");
    }
}

async fn caller(app: &App, user: Option<HeaderValue>) -> Result<Caller, Error> {
    match user {
        None => Ok(Caller::operator()),
        Some(name) => {
            let name = name.to_str().map_err(|_| Error::expected("user", "a name or an id"))?;
            on_behalf_of(app.platform(), name).await
        }
    }
}
