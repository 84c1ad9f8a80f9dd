//! Recorded runs: what ran, and the sealed content it is replayed from.

use serde::{Deserialize, Serialize};

use super::{Origin, StreamEntry};
use crate::vault::Sealed;

/// An entry of the account's stream of recordings, which trims itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    pub run_id: String,
    /// What ran.
    pub emitter_id: String,
    pub origin: Origin,
    /// The digest of the linked program.
    pub program: String,
    /// The input of the run, what the host answered it, and what it did.
    pub sealed: Sealed,
}

impl StreamEntry for Recording {
    const KIND: &'static str = "recording";
}
