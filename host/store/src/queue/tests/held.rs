//! How many bytes of the heap this thread holds, for tests that say what something costs in memory.

#![expect(unsafe_code, reason = "an allocator that counts hands everything on to the one of the system")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Counting;

/// What `work` makes, and the bytes that it holds when it is made.
pub(super) fn bytes_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    let made = work();
    (made, usize::try_from(HELD.get() - before).unwrap_or_default())
}

fn count(bytes: isize) {
    // A thread that is ending has no counter any more.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: both functions hand on their arguments unchanged, and counting allocates nothing: the counter needs no
// initialisation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}
