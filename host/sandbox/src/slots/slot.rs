//! One slot: a snapshot mapped copy-on-write, between guards.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use ::engine::{GUARD_BYTES, RESERVED_BYTES};

use super::changed::changed;
use crate::region::{MACHINE_PAGE_BYTES, Region};
use crate::snapshot::Snapshot;

/// Guest memory is aligned to what one page table covers on most machines: it then needs fewer page tables, and the scan for
/// dirty pages is faster.
const ALIGNMENT_BYTES: usize = 2 << 20;

/// Up to this many dirty pages are copied back from the snapshot, which costs less than faulting them in again; a short run
/// dirties some fifteen, one of a larger component many more. With more, the memory is mapped anew.
const MOST_PAGES_RESTORED: usize = 256;
/// The same after the first run: most components are called once in a while, and what stays private until then is memory
/// that is held for nothing.
const MOST_PAGES_RESTORED_AT_FIRST: usize = 64;
/// A dirty page stays private after it is restored, and is restored again after every later run. The memory is mapped anew
/// after this many runs, to drop the private pages that few runs write.
const RUNS_REMEMBERED: u32 = 256;

pub(super) struct Slot {
    region: Region,
    /// Where memory begins in the region.
    start: usize,
    snapshot: Arc<Snapshot>,
    /// What can be touched, in bytes from the start of memory: the snapshot, and what was grown.
    size: usize,
    /// Since it was mapped.
    runs: u32,
    /// All pages that were written since then, as far as they are known.
    dirty: Option<Box<[Range<usize>]>>,
    #[cfg(test)]
    pub(super) looks: u32,
}

// === impl Slot ===

impl Slot {
    pub(super) fn new(snapshot: Arc<Snapshot>) -> io::Result<Self> {
        let region = Region::reserve(GUARD_BYTES + ALIGNMENT_BYTES + RESERVED_BYTES + GUARD_BYTES)?;
        let guarded = region.start().addr() + GUARD_BYTES;
        let start = guarded.next_multiple_of(ALIGNMENT_BYTES) - region.start().addr();
        let mut slot = Self {
            region,
            start,
            snapshot,
            size: 0,
            runs: 0,
            dirty: None,
            #[cfg(test)]
            looks: 0,
        };
        slot.map()?;
        Ok(slot)
    }

    /// Gives it another snapshot. After an error it is of no use.
    pub(super) fn become_of(&mut self, snapshot: Arc<Snapshot>) -> io::Result<()> {
        self.region.close(self.range(0, self.size))?;
        (self.snapshot, self.size, self.runs, self.dirty) = (snapshot, 0, 0, None);
        self.map()
    }

    fn map(&mut self) -> io::Result<()> {
        let size = self.snapshot.length();
        self.region.copy_of(self.snapshot.file(), 0, self.range(0, size))?;
        self.size = size;
        Ok(())
    }

    /// Which snapshot it has.
    pub(super) fn image(&self) -> u64 {
        self.snapshot.id()
    }

    #[cfg(test)]
    pub(super) fn dirty_pages(&self) -> Option<usize> {
        let dirty = self.dirty.as_ref()?.iter();
        Some(dirty.map(|stretch| stretch.len() / MACHINE_PAGE_BYTES).sum())
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// What a run has beyond the snapshot.
    pub(super) fn grown_bytes(&self) -> usize {
        self.size.saturating_sub(self.snapshot.length())
    }

    pub(super) fn memory(&self) -> *mut u8 {
        self.region.start().wrapping_add(self.start)
    }

    /// A part of memory as one of the region.
    fn range(&self, from: usize, to: usize) -> Range<usize> {
        self.start + from..self.start + to
    }

    pub(super) fn grow(&mut self, size: usize) -> io::Result<()> {
        if size > RESERVED_BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        if size > self.size {
            self.region.open(self.range(self.size, size))?;
            self.size = size;
        }
        Ok(())
    }

    /// Makes memory what the snapshot says, whatever was written. With `is_dirty_alike` no page was written that had not been
    /// before.
    pub(super) fn restore(&mut self, is_dirty_alike: bool) -> io::Result<()> {
        let length = self.snapshot.length();
        self.region.close(self.range(length, self.size))?;
        self.size = length;
        self.runs = self.runs.wrapping_add(1);
        // The first runs of a component are often not like the others.
        let is_forgotten = self.runs == RUNS_REMEMBERED / 16 || self.runs.is_multiple_of(RUNS_REMEMBERED);
        let known = self.dirty.take();
        if is_forgotten {
            return self.map_from(0);
        }
        if let Some(dirty) = known.filter(|_| is_dirty_alike) {
            self.restore_pages(&dirty);
            self.dirty = Some(dirty);
            return Ok(());
        }
        #[cfg(test)]
        {
            self.looks += 1;
        }
        let most = if self.runs == 1 { MOST_PAGES_RESTORED_AT_FIRST } else { MOST_PAGES_RESTORED };
        let Some(changed) = changed(self.memory(), length, most) else { return self.map_from(0) };
        let dirty: Box<[Range<usize>]> = changed.stretches().collect();
        self.restore_pages(&dirty);
        if changed.looked_at() < length {
            return self.map_from(changed.looked_at());
        }
        self.dirty = Some(dirty);
        Ok(())
    }

    /// The rest was written all over, or the system cannot tell: it is cheaper to begin anew.
    fn map_from(&mut self, restored: usize) -> io::Result<()> {
        self.region.copy_of(self.snapshot.file(), restored, self.range(restored, self.snapshot.length()))
    }

    fn restore_pages(&self, dirty: &[Range<usize>]) {
        let (memory, content) = (self.memory(), self.snapshot.bytes());
        for pages in dirty {
            #[expect(unsafe_code, reason = "no guest has this memory any more")]
            // SAFETY: no more than the content's length of memory was looked at, all of which can be written to.
            let now = unsafe { std::slice::from_raw_parts_mut(memory.add(pages.start), pages.len()) };
            restore_changed(now, content.get(pages.clone()).unwrap_or_default());
        }
    }
}

/// Half of the pages that were written are as they were: references were counted up and down again.
fn restore_changed(now: &mut [u8], then: &[u8]) {
    for (now, then) in now.chunks_mut(MACHINE_PAGE_BYTES).zip(then.chunks(MACHINE_PAGE_BYTES)) {
        if now != then {
            now.copy_from_slice(then);
        }
    }
}
