//! The machine stacks of guests, used again and again. What a run left on one is never read: compiled code writes before it
//! reads, and a guest has no addresses of its stack.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::{StackCreator, StackMemory};

use crate::idle::Idle;
use crate::region::Region;

/// A page of any machine.
const GUARD_BYTES: usize = 64 << 10;

/// Idle stacks. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Stacks {
    idle: Arc<Mutex<Idle<Region>>>,
    most_idle: Arc<AtomicUsize>,
}

/// A stack while a run has it: a guard that cannot be touched, and then the stack, which grows down to it.
struct LentStack {
    /// Gone only when this is dropped.
    region: Option<Region>,
    home: Stacks,
}

// === impl Stacks ===

impl Stacks {
    /// Keeps at least so many: the sandboxes of a process share their idle stacks.
    pub(crate) fn keep(&self, most_idle: usize) {
        self.most_idle.fetch_max(most_idle, Ordering::Relaxed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Idle<Region>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(unsafe_code, reason = "wasmtime trusts that this is a stack, with a guard below it")]
// SAFETY: a region is mapped as `LentStack` says, and lent to one fiber at a time.
unsafe impl StackCreator for Stacks {
    fn new_stack(&self, size: usize, zeroed: bool) -> wasmtime::Result<Box<dyn StackMemory>> {
        let length = GUARD_BYTES + size.next_multiple_of(GUARD_BYTES);
        let idle = self.lock().take(|idle| !zeroed && idle.length() == length);
        let region = match idle {
            Some(idle) => idle,
            None => {
                let mut region = Region::reserve(length)?;
                region.open(GUARD_BYTES..length)?;
                region
            }
        };
        Ok(Box::new(LentStack { region: Some(region), home: self.clone() }))
    }
}

// === impl LentStack ===

impl LentStack {
    fn range_from(&self, from: usize, to: usize) -> Range<*mut u8> {
        let start = self.region.as_ref().map_or(std::ptr::null_mut(), Region::start);
        start.wrapping_add(from)..start.wrapping_add(to)
    }

    fn length(&self) -> usize {
        self.region.as_ref().map_or(0, Region::length)
    }
}

#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above; a region does not move.
unsafe impl StackMemory for LentStack {
    fn top(&self) -> *mut u8 {
        self.range_from(0, self.length()).end
    }

    fn range(&self) -> Range<usize> {
        let range = self.range_from(GUARD_BYTES, self.length());
        range.start.addr()..range.end.addr()
    }

    fn guard_range(&self) -> Range<*mut u8> {
        self.range_from(0, GUARD_BYTES)
    }
}

impl Drop for LentStack {
    fn drop(&mut self) {
        let mut idle = self.home.lock();
        if idle.len() < self.home.most_idle.load(Ordering::Relaxed) {
            self.region.take().into_iter().for_each(|region| idle.give_back(region));
        }
    }
}
