//! The way out, as far as the platform itself uses it; a component's own requests do not come by here.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use store::Tenant;

/// A text that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub text: String,
    /// Where it was found after redirects: what relative paths are relative to.
    pub url: String,
}

/// One request with a body, such as a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    pub method: String,
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// From the first byte of the connection to the last byte of the answer's head.
    pub timeout: Duration,
    /// How much of the answer's body is read at most.
    pub excerpt_bytes: usize,
}

/// The answer to a posting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posted {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The beginning of the body, as far as it was asked for and came soon after the head.
    pub excerpt: Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// Not an address that may be reached from here.
    #[error("{reason}")]
    Refused { reason: String },
    #[error("the server answered {status}")]
    Status { status: u16 },
    #[error("the answer is larger than {limit_bytes} bytes")]
    TooLarge { limit_bytes: usize },
    #[error("the answer is not UTF-8 text")]
    NotText,
    #[error("no answer: {reason}")]
    Unanswered { reason: String },
}

/// Obligations: addresses are filtered when the connection is made (no private networks unless the operator allowed
/// them); every wait is bounded; dropping the future cancels the request; a tenant has its share of connections, and
/// shares none with another.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// Whether an address can be refused by its text alone: a literal address, `localhost`, a port. Nothing is looked
    /// up, so what passes may still be refused when it is connected to.
    fn check(&self, url: &str) -> Result<(), OutboundError>;

    /// The body of a 2xx answer to a GET; redirects are followed.
    async fn fetch_text(&self, tenant: &Tenant, url: &str, limit_bytes: usize) -> Result<Fetched, OutboundError>;

    /// Sends, and reads the head of the answer, whatever its status, and of its body no more than was asked for;
    /// redirects are not followed. A body that stays away or breaks off is no failure.
    async fn post(&self, tenant: &Tenant, posting: Posting) -> Result<Posted, OutboundError>;

    /// The same, and the body is read whole: one that breaks off, or is larger than was asked for, is a failure. For answers
    /// of which every byte counts, such as those of a token endpoint.
    async fn call(&self, tenant: &Tenant, posting: Posting) -> Result<Posted, OutboundError>;
}
