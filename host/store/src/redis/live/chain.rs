//! Detects lost messages: each names the entry before its first.

use std::str::FromStr;

use bytes::Bytes;

use crate::EntryId;

/// What came of an emitter so far.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The entry before the first that came.
    begun: Option<EntryId>,
    /// The last that came, or was there before.
    seen: Option<EntryId>,
    /// What the store held when it was last compared: has come until the next time, or is lost.
    due: Option<EntryId>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Next,
    /// It came before.
    Old,
    /// Something between what came before and this did not come.
    Lost,
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) before: EntryId,
    pub(super) last: EntryId,
    /// With their streams; `None` when they were too large to be sent.
    pub(super) entries: Option<Vec<(EntryId, String, Bytes)>>,
}

// === impl Chain ===

impl Chain {
    pub(super) fn hear(&mut self, before: EntryId, last: EntryId) -> Heard {
        let heard = match self.seen {
            None => {
                self.begun = Some(before);
                Heard::Next
            }
            Some(seen) if last <= seen => return Heard::Old,
            Some(seen) if seen == before => Heard::Next,
            Some(_) => Heard::Lost,
        };
        self.seen = Some(last);
        heard
    }

    /// With the last entry of the store, once it is followed: whether everything after it came or will come.
    pub(super) fn anchor(&mut self, last: EntryId) -> bool {
        if self.seen.is_none() {
            self.seen = Some(last);
        }
        self.begun.is_none_or(|begun| begun <= last)
    }

    /// With the last entry of the store, now and then: whether what was there the last time has come. A message may be
    /// on its way while the store is asked, so one comparison alone says nothing.
    pub(super) fn compare(&mut self, last: EntryId) -> bool {
        let is_whole = self.due.is_none_or(|due| self.seen.is_some_and(|seen| seen >= due));
        if !is_whole {
            self.seen = Some(last);
        }
        self.due = Some(last);
        is_whole
    }
}

// === impl Piece ===

impl Piece {
    /// See `live.lua`. Values share the memory of the message.
    pub(super) fn parse(message: &Bytes) -> Option<Self> {
        let (head, mut rest) = line(message)?;
        let before = if head.is_empty() { EntryId::FIRST } else { parse(&head)? };
        if let Some(skipped) = rest.strip_prefix(b"!") {
            return Some(Self { before, last: parse(skipped)?, entries: None });
        }
        let mut entries = Vec::new();
        while !rest.is_empty() {
            let (head, body) = line(&rest)?;
            let mut fields = std::str::from_utf8(&head).ok()?.split(' ');
            let (id, stream, value) = (fields.next()?, fields.next()?, fields.next()?);
            let (stream, value): (usize, usize) = (stream.parse().ok()?, value.parse().ok()?);
            if body.len() < stream.checked_add(value)? {
                return None;
            }
            let name = String::from_utf8(body.slice(..stream).to_vec()).ok()?;
            entries.push((id.parse().ok()?, name, body.slice(stream..stream + value)));
            rest = body.slice(stream + value..);
        }
        Some(Self { before, last: entries.last()?.0, entries: Some(entries) })
    }
}

/// Up to the first line feed, and what follows it.
fn line(bytes: &Bytes) -> Option<(Bytes, Bytes)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((bytes.slice(..end), bytes.slice(end + 1..)))
}

fn parse<Parsed: FromStr>(bytes: &[u8]) -> Option<Parsed> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
