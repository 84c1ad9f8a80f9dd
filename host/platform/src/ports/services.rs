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

    /// Whether requests of this run may carry credentials of an account: [`authorize`](Self::authorize) is asked for each.
    fn has_accounts(&self) -> bool {
        false
    }

    /// What is sent in place of a request: with real credentials where the component has stand-ins, and to the hosts of the
    /// account's app only.
    async fn authorize(&self, _request: &Outgoing) -> Result<Passage, Denied> {
        Ok(Passage::Plain)
    }

    /// After the service refused the credentials of a request: the same with newer ones, once. None when there are none.
    async fn reauthorize(&self, _request: &Outgoing, _refused: &Carrying) -> Option<Carrying> {
        None
    }

    /// A text for a log or a record, without credentials of the run's accounts.
    fn conceal(&self, text: String) -> String {
        text
    }

    /// Takes the answer to the triggering request. Called at most once in a run.
    fn reply(&self, reply: Reply);

    /// Is called with every log line as it is written, for live logs.
    fn observe(&self, line: &LogLine);
}

/// A request as the component made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// None when it is streamed: such a request is not made twice.
    pub body: Option<Bytes>,
}

/// What becomes of a request.
pub enum Passage {
    /// It has nothing to do with an account.
    Plain,
    Carrying(Box<Carrying>),
    /// The platform answers it itself.
    Answered(Reply),
}

/// A request with credentials in it: never logged.
pub struct Carrying {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Headers that must not reach another origin when it is redirected.
    pub confidential: Vec<String>,
    /// What the component must not see, and what it sees in its place.
    pub concealed: Vec<(String, String)>,
    /// Which account's, and which of its tokens.
    pub account: usize,
    pub generation: u64,
}

/// A request that would bring credentials where they do not belong; the component is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    pub code: &'static str,
    pub message: String,
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
