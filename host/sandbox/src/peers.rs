//! Other hosts of the same installation: an image that is missing here may be there.

use async_trait::async_trait;
use bytes::Bytes;

/// Obligations: an answer comes within a bounded time, and costs less than building an image does.
#[async_trait]
pub trait Peers: Send + Sync {
    /// Asks for an image by its name.
    async fn ask(&self, image: &str) -> Asked;
}

pub struct Asked {
    /// As [`crate::Sandbox::lend`] gave it there.
    pub lent: Option<Bytes>,
    /// Other hosts that want the image wait for this one while it is held, until the image is here or cannot be made.
    pub claim: Claim,
}

/// Whatever ends when it is dropped.
pub type Claim = Box<dyn Send + Sync>;
