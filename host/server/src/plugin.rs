//! The trait by which endpoints of sources, event streams and the console join the front.

use async_trait::async_trait;
use hyper::http::request;
use hyper::{Request, Response};
use platform::Caller;

use crate::body::Body;
use crate::route::Access;

/// Asked before the routes of the API, in the order they were given.
///
/// Obligations: `claims` looks at the head only and is cheap; `handle` bounds what it reads and every wait. It runs on
/// the connection's own task: a client that goes away drops it.
#[async_trait]
pub trait Plugin: Send + Sync {
    /// Whether the request is this plugin's, and what it needs to be let through.
    fn claims(&self, head: &request::Parts) -> Option<Access>;

    /// What its requests are called in logs: a template without what a client wrote.
    fn route(&self) -> &'static str;

    /// Whether the request may change something: then it is refused while the server only reads.
    fn changes(&self, head: &request::Parts) -> bool {
        !head.method.is_safe()
    }

    /// `caller` is there unless access is public.
    async fn handle(&self, request: Request<Body>, caller: Option<Caller>) -> Response<Body>;
}
