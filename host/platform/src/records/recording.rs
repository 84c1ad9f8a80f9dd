//! Recorded runs: what ran, and the sealed content it is replayed from.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Origin, RecordError, StreamEntry, compact};
use crate::vault::SealedBytes;

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
    pub sealed: SealedBytes,
}

/// Binary throughout: what takes up more than a kilobyte takes up another page of the store.
impl StreamEntry for Recording {
    const KIND: &'static str = "recording";

    fn encode(&self) -> Result<Bytes, RecordError> {
        compact::encode_large(Self::KIND, self, self.sealed.size_bytes())
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        compact::decode(Self::KIND, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that were lists of numbers once are bytes now, and stored the same.
    #[test]
    fn recordings_are_stored_as_they_always_were() {
        let (key, text) = (vec![1_u8, 200, 3], vec![0_u8; 300]);
        let flat = ("r_1", "dc_1", Origin::Own, "digest", "key", &key, &text);
        let before = compact::encode(Recording::KIND, &flat).unwrap();

        let read = Recording::decode(&before).unwrap();

        assert_eq!((read.run_id.as_str(), read.program.as_str()), ("r_1", "digest"));
        assert_eq!(read.encode().unwrap(), before);
    }
}
