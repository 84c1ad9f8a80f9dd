//! Recorded runs: what ran, and the sealed content it is replayed from.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Origin, RecordError, StreamEntry, compact};
use crate::vault::SealedBytes;

/// Of several runs. One run has the form from before there were several.
const SEVERAL: u8 = 2;

/// An entry of the account's stream of recordings, which trims itself: runs of one program that were committed at once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    /// In the order of their commits; one at least.
    pub run_ids: Vec<String>,
    /// What ran.
    pub emitter_id: String,
    pub origin: Origin,
    /// The digest of the linked program.
    pub program: String,
    /// The inputs of the runs, what the host answered them, and what they did.
    pub sealed: SealedBytes,
}

/// How one of one run is stored.
#[derive(Serialize, Deserialize)]
struct OfOne<Text, Sealed> {
    run_id: Text,
    emitter_id: Text,
    origin: Origin,
    program: Text,
    sealed: Sealed,
}

// === impl Recording ===

impl Recording {
    /// What it is sealed for: the first of its runs.
    pub fn sealed_for(&self) -> &str {
        self.run_ids.first().map_or("", String::as_str)
    }
}

/// Binary throughout: what takes up more than a kilobyte takes up another page of the store.
impl StreamEntry for Recording {
    const KIND: &'static str = "recording";

    fn encode(&self) -> Result<Bytes, RecordError> {
        let Self { run_ids, emitter_id, origin, program, sealed } = self;
        let [run_id] = run_ids.as_slice() else {
            return compact::encode_newer(Self::KIND, SEVERAL, self, sealed.size_bytes());
        };
        let of_one = OfOne { run_id, emitter_id, origin: *origin, program, sealed };
        compact::encode_large(Self::KIND, &of_one, sealed.size_bytes())
    }

    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.first() == Some(&SEVERAL) {
            return compact::decode_newer(Self::KIND, SEVERAL, bytes);
        }
        let of_one: OfOne<String, SealedBytes> = compact::decode(Self::KIND, bytes)?;
        let OfOne { run_id, emitter_id, origin, program, sealed } = of_one;
        Ok(Self { run_ids: vec![run_id], emitter_id, origin, program, sealed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEALED: (&str, &[u8], &[u8]) = ("key", &[1, 200, 3], &[0; 300]);

    /// Parts that were lists of numbers once are bytes now, and stored the same.
    #[test]
    fn recordings_are_stored_as_they_always_were() {
        let (key, text) = (SEALED.1.to_vec(), SEALED.2.to_vec());
        let flat = ("r_1", "dc_1", Origin::Own, "digest", "key", &key, &text);
        let before = compact::encode(Recording::KIND, &flat).unwrap();

        let read = Recording::decode(&before).unwrap();

        assert_eq!((&read.run_ids[..], read.program.as_str()), (&["r_1".to_owned()][..], "digest"));
        assert_eq!(read.encode().unwrap(), before);
    }

    #[test]
    fn several_runs_are_a_form_that_older_versions_refuse() {
        let single = compact::encode(Recording::KIND, &("r_1", "dc_1", Origin::Own, "digest", SEALED)).unwrap();
        let several = Recording { run_ids: vec!["r_1".into(), "r_2".into()], ..Recording::decode(&single).unwrap() };

        let bytes = several.encode().unwrap();

        let read = Recording::decode(&bytes).unwrap();
        assert_eq!((read.run_ids, read.sealed), (several.run_ids, several.sealed));
        let older = compact::decode::<OfOne<String, SealedBytes>>(Recording::KIND, &bytes);
        assert!(matches!(older, Err(RecordError::Newer { found: 2, known: 1, .. })));
        assert!(matches!(Recording::decode(&[3]), Err(RecordError::Newer { found: 3, .. })));
    }
}
