//! Recorded runs: what ran, and the sealed content it is replayed from.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Origin, RecordError, StreamEntry, compact};
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

/// Binary throughout: what takes up more than a kilobyte takes up another page of the store.
#[derive(Serialize, Deserialize)]
struct StoredRecording {
    run_id: String,
    emitter_id: String,
    origin: Origin,
    program: String,
    key_id: String,
    wrapped_key: Vec<u8>,
    text: Vec<u8>,
}

impl StreamEntry for Recording {
    const KIND: &'static str = "recording";

    fn encode(&self) -> Result<Bytes, RecordError> {
        let (key_id, wrapped_key, text) =
            self.sealed.to_parts().map_err(|error| compact::malformed(Self::KIND, error))?;
        let Self { run_id, emitter_id, origin, program, .. } = self.clone();
        compact::encode(Self::KIND, &StoredRecording { run_id, emitter_id, origin, program, key_id, wrapped_key, text })
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let stored: StoredRecording = compact::decode(Self::KIND, bytes)?;
        let sealed = Sealed::from_parts(&stored.key_id, &stored.wrapped_key, &stored.text);
        let StoredRecording { run_id, emitter_id, origin, program, .. } = stored;
        Ok(Self { run_id, emitter_id, origin, program, sealed })
    }
}
