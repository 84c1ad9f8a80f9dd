//! Recorded runs: that there is one, and the sealed content it is replayed from.

use serde::{Deserialize, Serialize};

use super::{Origin, Stored};
use crate::vault::Sealed;

/// That a run was recorded. Apart from the content, so that it can be listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    pub run_id: String,
    /// What ran.
    pub emitter_id: String,
    pub origin: Origin,
    /// The digest of the linked program.
    pub program: String,
    pub created_at_ms: u64,
}

/// The input of a recorded run, what the host answered it, and what it did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tape {
    pub run_id: String,
    pub sealed: Sealed,
}

impl Stored for Recording {
    const KIND: &'static str = "recording";

    fn id(&self) -> String {
        self.run_id.clone()
    }
}

impl Stored for Tape {
    const KIND: &'static str = "tape";

    fn id(&self) -> String {
        self.run_id.clone()
    }
}
