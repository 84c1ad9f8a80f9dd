//! The services of a run: what its host functions need from the embedder.

use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use serde::{Deserialize, Serialize};

use crate::outcome::{LogLine, Write};

/// What keys begin with under which `db` has parts of the call.
pub const PART_OF_CALL: &str = "\0given/";

/// The embedder's side of the host functions, for one run.
///
/// Implementers are trusted; what arrives has been checked against the run's [`Limits`](crate::Limits). An error
/// from here is the host's failure: the run ends and [`Sandbox::run`](crate::Sandbox::run) returns it.
#[async_trait]
pub trait Services: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> f64;

    /// Fills `buffer` with cryptographically secure randomness.
    fn fill_random(&self, buffer: &mut [u8]);

    /// The committed JSON text under `key` of this source's store. Writes of the run itself are not asked for here. Under keys
    /// that begin with [`PART_OF_CALL`] are parts of the call that a run reads when it needs them. No recording has them: a replay
    /// of the call has to answer them again.
    async fn db_get(&self, key: &str) -> Result<Option<String>, ServiceError>;

    /// Called before each outbound request leaves, with the writes since the last one. They become durable, because the
    /// other side may call back and must find them; those that are answered instead stay with the run until its end.
    async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError>;

    /// The credentials of the account behind an app prop, as JSON.
    async fn credentials(&self, prop: &str) -> Option<String>;

    /// Takes the answer to the triggering request. Called at most once in a run.
    fn reply(&self, reply: Reply);

    /// Is called with every log line as it is written, for live logs.
    fn observe(&self, line: &LogLine);

    /// Performs one HTTP request. Dropping the future or the body cancels it.
    async fn fetch(&self, request: FetchRequest) -> Result<FetchResponse, FetchError>;
}

/// The host could not serve a run.
#[derive(Debug, thiserror::Error)]
#[error("the host could not serve the run")]
pub struct ServiceError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// An answer to an HTTP request.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

pub type FetchBody = Pin<Box<dyn Stream<Item = Result<Bytes, FetchError>> + Send>>;

pub struct FetchRequest {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub redirect: String,
    pub decompress: bool,
    pub timeout_ms: Option<u64>,
    pub body: FetchRequestBody,
}

pub enum FetchRequestBody {
    Whole(Bytes),
    Stream(tokio::sync::mpsc::Receiver<Bytes>),
}

pub struct FetchResponse {
    pub status: u16,
    pub status_text: String,
    pub headers: Vec<(String, String)>,
    pub url: String,
    pub redirected: bool,
    pub body: FetchBody,
}

/// Why a request failed: reported to the component, which may go on.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    /// Stable, for programs: `refused_address`, `timeout`…
    pub code: String,
    pub message: String,
}
