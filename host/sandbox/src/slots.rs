//! A pool of slots for guest memory: each is a range of addresses with the snapshot of its last use still mapped.
//!
//! A run is lent a slot; after it the dirty pages are restored from the snapshot. Copying a few pages back costs less than
//! mapping them anew, so the cost of a fresh memory is the cost of the pages that a run writes.
//!
//! wasmtime's own pool does nearly the same, but ties a snapshot to an instance beside the one that has the code, and each
//! import of that one would be linked anew for every run.

mod changed;
mod faults;
mod slot;

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ::engine::{GUARD_BYTES, RESERVED_BYTES};
use tokio::runtime::Handle;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::idle::Idle;
use crate::snapshot::Snapshot;
use faults::Moment;
use slot::Slot;

pub(crate) use faults::Numbered;

/// To unmap more than this takes milliseconds, in which a thread of the runtime would do nothing else.
const RESTORED_ASIDE_BYTES: usize = 4 << 20;

/// Idle slots, and the way to get one. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Slots {
    idle: Arc<Mutex<Idle<Slot>>>,
    /// How many may be idle; the oldest goes first.
    most_idle: usize,
    /// Whether large memories are restored on another thread. A worker process may not start any.
    restores_aside: bool,
}

/// Slots that are unmapped when this is dropped, which takes its time.
pub(crate) struct Forgotten(Vec<Slot>);

thread_local! {
    /// The memory of the next instance that is made on this thread. wasmtime asks for a memory without saying for which instance.
    static NEXT: Cell<Option<LentSlot>> = const { Cell::new(None) };
}

// === impl Slots ===

impl Slots {
    /// Opens what tells which pages were written; `false` where the system cannot tell.
    pub(crate) fn prepare() -> bool {
        changed::is_known()
    }

    pub(crate) fn new(most_idle: usize) -> Self {
        Self { idle: Arc::default(), most_idle, restores_aside: false }
    }

    pub(crate) fn restore_aside(&mut self) {
        self.restores_aside = true;
    }

    /// Makes an instance, whose memory is `snapshot`.
    pub(crate) fn instantiate<T>(&self, snapshot: &Arc<Snapshot>, make: impl FnOnce() -> T) -> io::Result<T> {
        NEXT.set(Some(LentSlot::new(self.take(snapshot)?, 0, self.clone())));
        let made = make();
        NEXT.set(None);
        Ok(made)
    }

    fn take(&self, snapshot: &Arc<Snapshot>) -> io::Result<Slot> {
        let (slot, is_ready) = {
            let mut idle = self.lock();
            match idle.take(|slot| slot.is_of(snapshot)) {
                None if idle.len() >= self.most_idle => (idle.take_oldest(), false),
                ready => (ready, true),
            }
        };
        match slot {
            Some(slot) if is_ready => Ok(slot),
            Some(slot) => slot.becomes(snapshot.clone()),
            None => Slot::new(snapshot.clone()),
        }
    }

    /// Takes the idle slots of a snapshot that is no longer held out of the pool.
    pub(crate) fn forget(&self, snapshot: &Arc<Snapshot>) -> Forgotten {
        Forgotten(self.lock().extract(|slot| slot.is_of(snapshot)))
    }

    /// An idle slot of a snapshot.
    #[cfg(test)]
    pub(crate) fn warm(&self, snapshot: &Arc<Snapshot>) {
        self.give_back(self.take(snapshot).unwrap(), false);
    }

    /// Pages that runs of a snapshot wrote to, of the slot that is lent next; none where the system cannot tell.
    #[cfg(test)]
    pub(crate) fn dirty_pages(&self, snapshot: &Arc<Snapshot>) -> Option<usize> {
        let slot = self.take(snapshot).unwrap();
        let pages = slot.dirty_pages();
        self.lock().give_back(slot);
        pages
    }

    /// A slot whose memory could not be restored is unmapped, and with it everything that was written there.
    fn give_back(&self, mut slot: Slot, is_dirty_alike: bool) {
        if let Err(error) = slot.restore(is_dirty_alike) {
            tracing::warn!(%error, "a memory could not be restored; the next run gets another");
            return;
        }
        let mut idle = self.lock();
        idle.give_back(slot);
        let oldest = if idle.len() > self.most_idle { idle.take_oldest() } else { None };
        drop(idle);
        drop(oldest);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Idle<Slot>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Forgotten ===

impl Forgotten {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

/// Gives an instance the memory that its sandbox made ready. One for all sandboxes of the process, as the engine is.
pub(crate) struct NextSlot;

#[expect(
    unsafe_code,
    reason = "wasmtime trusts that this memory is memory, and bounded by pages that cannot be touched"
)]
// SAFETY: a slot is mapped, up to its size and no further, and lent to one instance at a time.
unsafe impl MemoryCreator for NextSlot {
    fn new_memory(
        &self,
        _: MemoryType,
        minimum: usize,
        _: Option<usize>,
        reserved: Option<usize>,
        guard: usize,
    ) -> Result<Box<dyn LinearMemory>, String> {
        if reserved.is_none_or(|reserved| reserved > RESERVED_BYTES) || guard > GUARD_BYTES {
            return Err("code was compiled for larger slots".to_owned());
        }
        match NEXT.take() {
            Some(mut lent) if lent.slot.as_ref().is_some_and(|slot| slot.size() >= minimum) => {
                lent.size = minimum;
                Ok(Box::new(lent))
            }
            _ => Err("no memory was made ready".to_owned()),
        }
    }
}

/// A slot while a run has it.
struct LentSlot {
    /// Gone only when this is dropped.
    slot: Option<Slot>,
    /// What the guest knows of. It begins with what its module asks for, and is grown to the snapshot's before it runs.
    size: usize,
    home: Slots,
    /// Of nothing that was written yet.
    lent_at: Option<Moment>,
}

// === impl LentSlot ===

impl LentSlot {
    fn new(slot: Slot, size: usize, home: Slots) -> Self {
        Self { slot: Some(slot), size, home, lent_at: Moment::now() }
    }
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above; a slot does not move.
unsafe impl LinearMemory for LentSlot {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        RESERVED_BYTES
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        if let Some(slot) = &mut self.slot {
            slot.grow(size)?;
        }
        self.size = size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.slot.as_ref().map_or(std::ptr::null_mut(), Slot::memory)
    }
}

impl Drop for LentSlot {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        match Handle::try_current() {
            Ok(runtime) if self.home.restores_aside && slot.grown_bytes() >= RESTORED_ASIDE_BYTES => {
                let home = self.home.clone();
                runtime.spawn_blocking(move || home.give_back(slot, false));
            }
            _ => {
                let has_met_no_fault = self.lent_at.is_some() && self.lent_at == Moment::now();
                self.home.give_back(slot, has_met_no_fault);
            }
        }
    }
}

#[cfg(test)]
mod tests;
