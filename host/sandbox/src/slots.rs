//! A pool of slots for guest memory: each is a range of addresses with the snapshot of its last use still mapped.
//!
//! A run is lent a slot; after it the dirty pages are restored from the snapshot. Copying a few pages back costs less than
//! mapping them anew, so the cost of a fresh memory is the cost of the pages that a run writes. The instance of a run that ended
//! well stays with its slot: its memory is all that a run can change in it (`engine/split.rs`).
//!
//! wasmtime's own pool does nearly the same, but ties a snapshot to an instance beside the one that has the code, and each
//! import of that one would be linked anew for every run.

mod changed;
mod faults;
mod slot;

use std::cell::Cell;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::engine::{GUARD_BYTES, RESERVED_BYTES};
use tokio::runtime::Handle;
use wasmtime::{LinearMemory, MemoryCreator, MemoryType};

use crate::idle::Idle;
use crate::run::Instantiated;
use crate::snapshot::Snapshot;
use faults::Moment;
use slot::Slot;

pub(crate) use faults::Numbered;

/// To unmap more than this takes milliseconds, in which a thread of the runtime would do nothing else.
const RESTORED_ASIDE_BYTES: usize = 4 << 20;

/// Idle slots, and the way to get one. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Slots {
    idle: Arc<Mutex<Idle<Resting>>>,
    /// How many may be idle; the oldest goes first.
    most_idle: usize,
    /// Whether large memories are restored on another thread. A worker process may not start any.
    restores_aside: bool,
}

/// A slot while a run has it. Restored and given back when it is dropped, which comes after its instance.
pub(crate) struct Lent {
    /// Gone only when this is dropped.
    slot: Option<Shared>,
    home: Slots,
    /// Of nothing that was written yet.
    lent_at: Option<Moment>,
}

/// Slots that are unmapped when this is dropped, which takes its time.
pub(crate) struct Forgotten(Vec<Resting>);

/// A slot that no run has, with the instance whose memory it is when that may run again.
struct Resting {
    /// Ends before its memory does.
    instance: Option<Instantiated>,
    slot: Shared,
    image: u64,
}

/// One for the instance, which grows it, and one for what lends it.
#[derive(Clone)]
struct Shared(Arc<Mutex<Slot>>);

thread_local! {
    /// The memory of the next instance that is made on this thread. wasmtime asks for a memory without saying for which instance.
    static NEXT: Cell<Option<Shared>> = const { Cell::new(None) };
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

    /// A slot whose memory is `snapshot`, with its instance when it has one.
    pub(crate) fn lend(&self, snapshot: &Arc<Snapshot>) -> io::Result<(Lent, Option<Instantiated>)> {
        let Resting { instance, slot, .. } = self.take(snapshot)?;
        Ok((Lent { slot: Some(slot), home: self.clone(), lent_at: Moment::now() }, instance))
    }

    fn take(&self, snapshot: &Arc<Snapshot>) -> io::Result<Resting> {
        let (resting, is_ready) = {
            let mut idle = self.lock();
            match idle.take(|resting| resting.image == snapshot.id()) {
                None if idle.len() >= self.most_idle => (idle.take_oldest(), false),
                ready => (ready, true),
            }
        };
        match resting {
            Some(resting) if is_ready => Ok(resting),
            Some(resting) => resting.becomes(snapshot),
            None => Ok(Resting::of(Shared::new(Slot::new(snapshot.clone())?), None)),
        }
    }

    /// Takes the idle slots of a snapshot that is no longer held out of the pool.
    pub(crate) fn forget(&self, snapshot: &Arc<Snapshot>) -> Forgotten {
        Forgotten(self.lock().extract(|resting| resting.image == snapshot.id()))
    }

    /// An idle slot of a snapshot.
    #[cfg(test)]
    pub(crate) fn warm(&self, snapshot: &Arc<Snapshot>) {
        drop(self.lend(snapshot).unwrap());
    }

    /// Whether the slot that is lent next has its instance.
    #[cfg(test)]
    pub(crate) fn has_instance(&self, snapshot: &Arc<Snapshot>) -> bool {
        let resting = self.take(snapshot).unwrap();
        let has_instance = resting.instance.is_some();
        self.lock().give_back(resting);
        has_instance
    }

    /// Pages that runs of a snapshot wrote to, of the slot that is lent next; none where the system cannot tell.
    #[cfg(test)]
    pub(crate) fn dirty_pages(&self, snapshot: &Arc<Snapshot>) -> Option<usize> {
        let resting = self.take(snapshot).unwrap();
        let pages = resting.slot.lock().dirty_pages();
        self.lock().give_back(resting);
        pages
    }

    /// A slot whose memory could not be restored is unmapped, and with it everything that was written there.
    fn give_back(&self, resting: Resting, is_dirty_alike: bool) {
        if let Err(error) = resting.slot.lock().restore(is_dirty_alike) {
            tracing::warn!(%error, "a memory could not be restored; the next run gets another");
            return;
        }
        let mut idle = self.lock();
        idle.give_back(resting);
        let oldest = if idle.len() > self.most_idle { idle.take_oldest() } else { None };
        drop(idle);
        drop(oldest);
    }

    fn lock(&self) -> MutexGuard<'_, Idle<Resting>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Lent ===

impl Lent {
    /// Makes an instance, whose memory it is.
    pub(crate) fn instantiate<T>(&self, make: impl FnOnce() -> T) -> T {
        NEXT.set(self.slot.clone());
        let made = make();
        NEXT.set(None);
        made
    }

    /// For another run of the same instance. One whose memory grew ends: it cannot shrink.
    pub(crate) fn give_back_with(mut self, instance: Instantiated) {
        let Some(slot) = self.slot.take_if(|slot| slot.lock().grown_bytes() == 0) else { return drop(instance) };
        self.home.give_back(Resting::of(slot, Some(instance)), self.is_dirty_alike());
    }

    /// Nothing was written that had not been before.
    fn is_dirty_alike(&self) -> bool {
        self.lent_at.is_some() && self.lent_at == Moment::now()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        let grown_bytes = slot.lock().grown_bytes();
        match Handle::try_current() {
            Ok(runtime) if self.home.restores_aside && grown_bytes >= RESTORED_ASIDE_BYTES => {
                let home = self.home.clone();
                runtime.spawn_blocking(move || home.give_back(Resting::of(slot, None), false));
            }
            _ => self.home.give_back(Resting::of(slot, None), self.is_dirty_alike()),
        }
    }
}

// === impl Resting ===

impl Resting {
    fn of(slot: Shared, instance: Option<Instantiated>) -> Self {
        let image = slot.lock().image();
        Self { instance, slot, image }
    }

    /// The same slot with another snapshot. An instance is of one image.
    fn becomes(self, snapshot: &Arc<Snapshot>) -> io::Result<Self> {
        let Self { instance, slot, .. } = self;
        drop(instance);
        slot.lock().become_of(snapshot.clone())?;
        Ok(Self::of(slot, None))
    }
}

// === impl Shared ===

impl Shared {
    fn new(slot: Slot) -> Self {
        Self(Arc::new(Mutex::new(slot)))
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
            Some(slot) if slot.lock().size() >= minimum => Ok(Box::new(SlotMemory { slot, size: minimum })),
            _ => Err("no memory was made ready".to_owned()),
        }
    }
}

/// A slot as the memory of an instance.
struct SlotMemory {
    slot: Shared,
    /// What the guest knows of. It begins with what its module asks for, and is grown to the snapshot's before it runs.
    size: usize,
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above; a slot does not move, and is unmapped when neither this nor its pool has it.
unsafe impl LinearMemory for SlotMemory {
    fn byte_size(&self) -> usize {
        self.size
    }

    fn byte_capacity(&self) -> usize {
        RESERVED_BYTES
    }

    fn grow_to(&mut self, size: usize) -> wasmtime::Result<()> {
        self.slot.lock().grow(size)?;
        self.size = size;
        Ok(())
    }

    fn as_ptr(&self) -> *mut u8 {
        self.slot.lock().memory()
    }
}

#[cfg(test)]
mod tests;
