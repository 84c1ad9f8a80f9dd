//! The id of a stream entry: `<milliseconds>-<sequence>`, strictly increasing per emitter.
//!
//! The sequence has 20 bits, so an id packs into one signed 64-bit column until the year 2248. A
//! sequence that is full moves on to the next millisecond, which keeps the order.

use std::fmt;
use std::str::FromStr;

const SEQUENCE_BITS: u32 = 20;
const LAST_SEQUENCE: u32 = (1 << SEQUENCE_BITS) - 1;
const LAST_MS: u64 = (1 << 43) - 1;

/// Ordered by time, then by sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    ms: u64,
    sequence: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event id is <milliseconds>-<sequence>")]
pub struct ParseEntryIdError;

impl EntryId {
    pub const FIRST: Self = Self { ms: 0, sequence: 0 };

    /// Out of range parts are taken as the greatest that is in range.
    pub fn new(ms: u64, sequence: u32) -> Self {
        Self { ms: ms.min(LAST_MS), sequence: sequence.min(LAST_SEQUENCE) }
    }

    pub fn ms(self) -> u64 {
        self.ms
    }

    pub fn sequence(self) -> u32 {
        self.sequence
    }

    /// The id that follows `last` at `now_ms`, also when the clock has stepped back.
    pub fn next(last: Option<Self>, now_ms: u64) -> Self {
        match last {
            Some(last) if now_ms <= last.ms => last.successor(),
            _ => Self::new(now_ms, 0),
        }
    }

    /// The smallest id greater than this one: reading "after" an id starts here.
    pub fn successor(self) -> Self {
        if self.sequence < LAST_SEQUENCE {
            return Self { ms: self.ms, sequence: self.sequence + 1 };
        }
        Self::new(self.ms + 1, 0)
    }

    /// The greatest id less than this one: reading "before" an id ends here. None before the first of all.
    pub fn predecessor(self) -> Option<Self> {
        match self.sequence.checked_sub(1) {
            Some(sequence) => Some(Self { ms: self.ms, sequence }),
            None => self.ms.checked_sub(1).map(|ms| Self { ms, sequence: LAST_SEQUENCE }),
        }
    }

    pub(crate) fn packed(self) -> i64 {
        let packed = (self.ms << SEQUENCE_BITS) | u64::from(self.sequence);
        i64::try_from(packed).unwrap_or(i64::MAX)
    }

    pub(crate) fn unpacked(packed: i64) -> Self {
        let packed = u64::try_from(packed).unwrap_or_default();
        let sequence = u32::try_from(packed & u64::from(LAST_SEQUENCE)).unwrap_or_default();
        Self::new(packed >> SEQUENCE_BITS, sequence)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.ms, self.sequence)
    }
}

impl FromStr for EntryId {
    type Err = ParseEntryIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (ms, sequence) = text.split_once('-').ok_or(ParseEntryIdError)?;
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(ms) || !digits(sequence) {
            return Err(ParseEntryIdError);
        }
        let ms: u64 = ms.parse().map_err(|_| ParseEntryIdError)?;
        let sequence: u32 = sequence.parse().map_err(|_| ParseEntryIdError)?;
        if ms > LAST_MS || sequence > LAST_SEQUENCE {
            return Err(ParseEntryIdError);
        }
        Ok(Self { ms, sequence })
    }
}

#[cfg(test)]
mod tests;
