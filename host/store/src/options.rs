//! What the operator decides about a shared store beside its address.

use std::fmt;
use std::time::Duration;

use crate::Error;

/// Of an installation that has the server to itself.
pub(crate) const PREFIX: &str = "ws";

/// A caller is told within two seconds that the store does not answer.
const PATIENCE: Duration = Duration::from_millis(1800);

#[derive(Debug, Clone)]
pub struct Options {
    /// What every key in Redis begins with, and the name of the schema in PostgreSQL.
    pub prefix: String,
    pub tls: Tls,
    pub durability: Durability,
    /// How long a call may take, with everything that is tried again.
    pub patience: Duration,
}

/// When a commit is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// When the server has it: on disk, as far as the server is configured for it.
    #[default]
    Disk,
    /// When a replica has it as well.
    Replica,
}

/// Certificates in PEM. Without any, those of the system are trusted.
#[derive(Clone, Default)]
pub struct Tls {
    /// Trusted instead of those of the system.
    pub ca: Option<Vec<u8>>,
    /// What this client shows, and its key.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

// === impl Options ===

impl Options {
    /// A brace would decide where keys of a cluster lie.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_good = (1..=64).contains(&self.prefix.len()) && self.prefix.bytes().all(allowed);
        if is_good { Ok(()) } else { Err(Error::Prefix) }
    }
}

impl Default for Options {
    fn default() -> Self {
        let (tls, durability) = (Tls::default(), Durability::default());
        Self { prefix: PREFIX.to_owned(), tls, durability, patience: PATIENCE }
    }
}

// === impl Tls ===

impl fmt::Debug for Tls {
    /// Without the key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (has_ca, has_client) = (self.ca.is_some(), self.client.is_some());
        formatter.debug_struct("Tls").field("ca", &has_ca).field("client", &has_client).finish()
    }
}
