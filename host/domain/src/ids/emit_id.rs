//! The id of one emitted event: 27 characters that sort by the millisecond of the emit.

use serde::Serialize;

use super::IdError;
use crate::base62;

/// 48 bits of milliseconds and 112 random bits in 27 base62 digits: the shape of a KSUID, with a finer clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct EmitId(String);

text_id!(EmitId);

// === impl EmitId ===

impl EmitId {
    /// 62^27 is the first power that holds 160 bits.
    const CHARACTERS: usize = 27;

    pub fn parse(text: &str) -> Result<Self, IdError> {
        if text.len() == Self::CHARACTERS && base62::decode_bytes::<20>(text).is_some() {
            return Ok(Self(text.to_owned()));
        }
        Err(IdError::new("an emit id (27 letters or digits)", text))
    }

    /// A clock before 1970 counts as 1970, one past the year 10889 as that: order is lost there, uniqueness is not.
    pub fn new(now_ms: i64, random: [u8; 14]) -> Self {
        let milliseconds = u64::try_from(now_ms).unwrap_or(0).min((1 << 48) - 1);
        let mut bytes = [0_u8; 20];
        let parts = milliseconds.to_be_bytes().into_iter().skip(2).chain(random);
        for (byte, part) in bytes.iter_mut().zip(parts) {
            *byte = part;
        }
        Self(base62::encode_bytes(&bytes, Self::CHARACTERS))
    }

    /// When the event was emitted.
    pub fn emitted_at_ms(&self) -> i64 {
        let bytes = base62::decode_bytes::<20>(&self.0).unwrap_or_default();
        bytes.iter().take(6).fold(0, |milliseconds, byte| (milliseconds << 8) | i64::from(*byte))
    }
}
