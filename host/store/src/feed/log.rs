//! The entries of one emitter that at least one reader has yet to take.
//!
//! Entries have positions. The cursor of a reader is the position it takes next; what lies below the lowest cursor is
//! dropped. A reader below the first position has lost what was there: it was evicted, or never came.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::live::{LiveEntry, Taken};

#[derive(Default)]
pub(super) struct Log {
    entries: VecDeque<Arc<LiveEntry>>,
    /// Position of the first entry.
    first: u64,
    size_bytes: usize,
    readers: usize,
    /// How many readers are at a position; a reader that lost entries has no cursor.
    cursors: BTreeMap<u64, usize>,
}

impl Log {
    pub(super) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    /// The position of a new reader.
    pub(super) fn join(&mut self) -> u64 {
        self.readers += 1;
        let end = self.end();
        *self.cursors.entry(end).or_default() += 1;
        end
    }

    /// Whether that was the last reader.
    pub(super) fn leave(&mut self, position: u64) -> bool {
        self.readers = self.readers.saturating_sub(1);
        self.remove_cursor(position);
        self.drop_taken();
        self.readers == 0
    }

    /// Holds at most `most_bytes`: the oldest entries go.
    pub(super) fn push(&mut self, entry: Arc<LiveEntry>, most_bytes: usize) {
        if self.cursors.is_empty() {
            return;
        }
        self.size_bytes += entry.size_bytes();
        self.entries.push_back(entry);
        if self.size_bytes > most_bytes {
            self.evict(most_bytes);
        }
    }

    pub(super) fn has_news(&self, position: u64) -> bool {
        position != self.end()
    }

    /// What is at the position, which then moves on.
    pub(super) fn take(&mut self, position: &mut u64) -> Option<Taken> {
        let Some(index) = position.checked_sub(self.first) else { return Some(Taken::Lost) };
        let entry = self.entries.get(usize::try_from(index).ok()?)?.clone();
        self.remove_cursor(*position);
        *position += 1;
        *self.cursors.entry(*position).or_default() += 1;
        self.drop_taken();
        Some(Taken::Entry(entry))
    }

    /// The oldest entries go until so many bytes are left; readers that had not taken them have lost them.
    pub(super) fn evict(&mut self, most_bytes: usize) {
        while self.size_bytes > most_bytes && self.drop_first() {}
        self.cursors = self.cursors.split_off(&self.first);
        self.drop_taken();
    }

    /// Entries never came: every reader of now has lost them.
    pub(super) fn lose(&mut self) {
        self.first = self.end() + 1;
        self.entries.clear();
        self.size_bytes = 0;
        self.cursors.clear();
    }

    fn end(&self) -> u64 {
        self.first + u64::try_from(self.entries.len()).unwrap_or_default()
    }

    fn remove_cursor(&mut self, position: u64) {
        if let Some(count) = self.cursors.get_mut(&position) {
            *count -= 1;
            if *count == 0 {
                self.cursors.remove(&position);
            }
        }
    }

    fn drop_taken(&mut self) {
        let lowest = self.cursors.first_key_value().map_or(u64::MAX, |(position, _)| *position);
        while self.first < lowest && self.drop_first() {}
    }

    fn drop_first(&mut self) -> bool {
        let Some(entry) = self.entries.pop_front() else { return false };
        self.first += 1;
        self.size_bytes = self.size_bytes.saturating_sub(entry.size_bytes());
        true
    }
}
