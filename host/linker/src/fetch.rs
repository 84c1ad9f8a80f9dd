//! How the linker reaches the network: one trait, implemented by the host on its egress client.

use async_trait::async_trait;
use bytes::Bytes;

/// A whole answer. Header names are in lower case.
#[derive(Clone, Debug)]
pub struct FetchResponse {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// Why there is no answer. Both kinds of failure name their cause in words for the operator.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FetchError {
    /// Timeouts, refused or broken connections, truncated bodies: worth another try.
    #[error("{cause}")]
    Unreachable { cause: String },
    #[error("the answer is larger than {limit_bytes} bytes")]
    TooLarge { limit_bytes: u64 },
    /// Trying again gives the same: a refused address, a URL that cannot be requested.
    #[error("{cause}")]
    Refused { cause: String },
}

/// The way to the registry.
///
/// Implementers follow redirects without handing `authorization` to another origin, decode
/// `content-encoding`, bound every wait, read no more than `limit_bytes` of decoded body, and report a
/// body that ends early as `Unreachable`. Proxies and certificates are theirs as well.
#[async_trait]
pub trait Fetch: Send + Sync {
    async fn get(&self, url: &str, headers: &[(String, String)], limit_bytes: u64)
    -> Result<FetchResponse, FetchError>;
}

// === impl FetchResponse ===

impl FetchResponse {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}
