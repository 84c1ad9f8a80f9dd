//! The id of one run: when it began, what ran, and a few bytes of chance.

use serde::Serialize;

use super::{EmitId, IdError, RANDOM_CHARACTERS};
use crate::base62;

/// In the shape of an emit id, so that ids of runs and events sort by time alike. The emitter is part of it, so that a run
/// is found by its id alone, without an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RunId(String);

text_id!(RunId);

/// What can run, by the prefix of its id; the position is the number in the run's id.
const PREFIXES: [&str; 3] = ["dc_", "sc_", "p_"];
/// Holds 62^12.
const RANDOM_PART_BYTES: usize = 9;

// === impl RunId ===

impl RunId {
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let id = EmitId::parse(text).map_err(|_| IdError::new("the id of a run (27 letters or digits)", text))?;
        Ok(Self(id.to_string()))
    }

    /// `emitter` is the id of a source, a component or a workflow.
    pub fn new(now_ms: i64, emitter: &str, chance: [u8; 4]) -> Self {
        let mut bytes = [0_u8; 14];
        let known = PREFIXES.iter().zip(0_u8..).find_map(|(prefix, number)| {
            let part = base62::decode_bytes::<RANDOM_PART_BYTES>(emitter.strip_prefix(prefix)?)?;
            Some(std::iter::once(number).chain(part))
        });
        let emitter = known.into_iter().flatten().chain(std::iter::repeat(u8::MAX)).take(1 + RANDOM_PART_BYTES);
        for (byte, part) in bytes.iter_mut().zip(emitter.chain(chance)) {
            *byte = part;
        }
        Self(EmitId::new(now_ms, bytes).to_string())
    }

    pub fn started_at_ms(&self) -> i64 {
        self.bytes().iter().take(6).fold(0, |milliseconds, byte| (milliseconds << 8) | i64::from(*byte))
    }

    /// What ran.
    pub fn emitter(&self) -> Option<String> {
        let bytes = self.bytes();
        let prefix = PREFIXES.get(usize::from(*bytes.get(6)?))?;
        let part = base62::encode_bytes(bytes.get(7..7 + RANDOM_PART_BYTES)?, RANDOM_CHARACTERS);
        Some(format!("{prefix}{part}"))
    }

    fn bytes(&self) -> [u8; 20] {
        base62::decode_bytes(&self.0).unwrap_or_default()
    }
}
