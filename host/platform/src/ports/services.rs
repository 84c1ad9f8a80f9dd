//! The services of a run: what its host functions need from the platform.

use async_trait::async_trait;
use bytes::Bytes;
use domain::outcome::{LogLine, Write};

/// The platform's side of the host functions, for one run. Outbound requests are not here: the adapter sends them through
/// the egress client itself.
///
/// Implementers are trusted; what arrives has been checked against the run's limits. An error from here is our
/// failure: the run ends and [`Sandbox::run`](super::Sandbox::run) returns it.
#[async_trait]
pub trait RunServices: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> f64;

    /// Fills `buffer` with cryptographically secure randomness.
    fn fill_random(&self, buffer: &mut [u8]);

    /// The committed JSON text under `key` of this source's store. Writes of the run itself are not asked for here.
    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError>;

    /// Called before each outbound request leaves, with the writes since the last one. They become durable, because the
    /// other side may call back and must find them; those that are answered instead stay with the run until its end.
    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError>;

    /// The credentials of the account behind an app prop, as JSON.
    fn credentials(&self, prop: &str) -> Option<String>;

    /// Takes the answer to the triggering request. Called at most once in a run.
    fn reply(&self, reply: Reply);

    /// Is called with every log line as it is written, for live logs.
    fn observe(&self, line: &LogLine);
}

/// An answer to an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// The host could not serve a run.
#[derive(Debug, thiserror::Error)]
#[error("the host could not serve the run")]
pub struct ServiceError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
