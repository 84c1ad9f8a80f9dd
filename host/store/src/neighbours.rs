//! Hosts that share a store talk to each other through it.
//!
//! Best effort by design: what was missed costs time, never correctness. Nothing that must not be lost goes this way.

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::broadcast;

use crate::Error;

/// Something short that another host said to all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Unique to one run of its process; ids of hosts can be compared.
    pub host: String,
    pub text: String,
}

#[async_trait]
pub trait Neighbours: Send + Sync {
    /// What this host is called by the others.
    fn own(&self) -> &str;

    /// Whether there are any, by their heartbeats.
    async fn are_any(&self) -> Result<bool, Error>;

    /// Says something short to all other hosts that listen.
    async fn say(&self, text: &str) -> Result<(), Error>;

    /// What others say from now on. One that falls behind misses the oldest.
    fn listen(&self) -> broadcast::Receiver<Said>;

    /// Puts bytes where every host finds them for a while. What lies there under the name stays.
    async fn lend(&self, name: &str, bytes: Bytes, for_ms: u64) -> Result<(), Error>;

    /// Whether something was lent under the name.
    async fn is_lent(&self, name: &str) -> Result<bool, Error>;

    async fn borrow(&self, name: &str) -> Result<Option<Bytes>, Error>;
}
