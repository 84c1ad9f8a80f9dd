//! How other code follows a recording for as long as it asks for the same: with its clock, and what happened when.
//!
//! Code that does the same is answered the same, to the bit. What it asks for in addition is answered without this, and what it does
//! not ask for any more is passed over, up to the next thing that happened between the run and its requests.

use bytes::Bytes;

use super::{Entry, Kind, next_entry};

/// Entries that are looked at for one answer.
const AHEAD_MAXIMUM: usize = 64;

pub(super) struct Following {
    rest: Bytes,
}

// === impl Following ===

impl Following {
    pub(super) fn new(recording: Bytes) -> Self {
        Self { rest: recording }
    }

    /// The recorded answer, if the question was asked around here.
    pub(super) fn find(&mut self, kind: Kind, asked: &[u8]) -> Option<Bytes> {
        let mut rest = self.rest.clone();
        for _ in 0..AHEAD_MAXIMUM {
            let entry = next_entry(&mut rest)?;
            if entry.kind == kind && entry.asked == asked {
                self.rest = rest;
                return Some(entry.answer);
            }
            if entry.is_passage() {
                return None;
            }
        }
        None
    }

    /// Whether time passed or something happened around here that the run was not told yet.
    pub(super) fn goes_on(&self) -> bool {
        let mut rest = self.rest.clone();
        let mut ahead = std::iter::from_fn(|| next_entry(&mut rest)).take(AHEAD_MAXIMUM);
        let is_told = |entry: &Entry| matches!(entry.kind, Kind::Elapsed | Kind::Completion);
        ahead.find(|entry| is_told(entry) || entry.is_passage()).is_some_and(|entry| is_told(&entry))
    }

    /// The run does something else now.
    pub(super) fn end(&mut self) {
        self.rest = Bytes::new();
    }
}

// === impl Entry ===

impl Entry {
    /// A request that left, or something that happened to one.
    fn is_passage(&self) -> bool {
        self.kind == Kind::Fetch || (self.kind == Kind::Completion && !self.answer.is_empty())
    }
}
