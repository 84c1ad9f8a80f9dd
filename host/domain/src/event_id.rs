//! The id of an event in its stream: `<epoch_milliseconds>-<sequence>`, growing even when the clock does not.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Ordered by time, then by sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventId {
    milliseconds: u64,
    sequence: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an event id (<milliseconds>-<sequence>)")]
pub struct EventIdError {
    pub given: String,
}

/// The events between two ids, both included; an open end reaches to the oldest or the newest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventRange {
    pub start: Option<EventId>,
    pub end: Option<EventId>,
}

// === impl EventId ===

impl EventId {
    pub fn parse(text: &str) -> Result<Self, EventIdError> {
        let parsed = text.split_once('-').and_then(|(milliseconds, sequence)| {
            Some(Self { milliseconds: parse_number(milliseconds)?, sequence: parse_number(sequence)? })
        });
        parsed.ok_or_else(|| EventIdError { given: text.chars().take(64).collect() })
    }

    /// The id after `previous` at this moment. While the clock stands still, or after it stepped back, the sequence
    /// counts on under the last millisecond: an id once given is never followed by a smaller one.
    pub fn next(previous: Option<Self>, now_ms: i64) -> Self {
        let now = u64::try_from(now_ms).unwrap_or(0);
        match previous {
            Some(last) if last.milliseconds >= now => match last.sequence.checked_add(1) {
                Some(sequence) => Self { sequence, ..last },
                None => Self { milliseconds: last.milliseconds.saturating_add(1), sequence: 0 },
            },
            _ => Self { milliseconds: now, sequence: 0 },
        }
    }

    pub fn milliseconds(self) -> u64 {
        self.milliseconds
    }

    pub fn sequence(self) -> u64 {
        self.sequence
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.milliseconds, self.sequence)
    }
}

impl TryFrom<String> for EventId {
    type Error = EventIdError;

    fn try_from(text: String) -> Result<Self, EventIdError> {
        Self::parse(&text)
    }
}

impl From<EventId> for String {
    fn from(id: EventId) -> Self {
        id.to_string()
    }
}

// === impl EventRange ===

impl EventRange {
    pub fn contains(&self, id: EventId) -> bool {
        self.start.is_none_or(|start| id >= start) && self.end.is_none_or(|end| id <= end)
    }
}

/// Digits without a sign or leading zeros, so that each id has one spelling.
fn parse_number(text: &str) -> Option<u64> {
    let is_canonical = text == "0" || text.starts_with(|first: char| matches!(first, '1'..='9'));
    text.parse().ok().filter(|_| is_canonical)
}

#[cfg(test)]
mod tests;
