//! Bodies, and who sent them.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Any body: of a request as it streams in, of an answer as it streams out.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The other end of the connection; among the extensions of every request.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub fn empty() -> Body {
    full(Bytes::new())
}
