//! The allocator under QuickJS and Rust alike.
//!
//! QuickJS makes and drops small blocks all the time: every string, object and shape is one. Blocks up to a kilobyte come
//! from lists by size, so that giving and taking one is a handful of instructions; larger ones are the system's.
//!
//! While an image is being made, what is freed is overwritten with zeros: pages of zeros are not stored, so the source
//! text and garbage of loading never weigh on an image.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;

/// Sizes are rounded up to a multiple of this, which is also the alignment of every small block.
const STEP_BYTES: usize = 16;
const LARGEST_SMALL_BYTES: usize = 1024;
/// What is taken from the system at a time for small blocks.
const CHUNK_BYTES: usize = 32 << 10;
/// Room an image has for the small blocks of its runs, and for their large ones, before memory must grow.
const ROOM_FOR_SMALL_BYTES: usize = 256 << 10;
const ROOM_FOR_LARGE_BYTES: usize = 128 << 10;

// Elsewhere there are threads, and the crate is only linted.
#[cfg_attr(target_arch = "wasm32", global_allocator)]
static ALLOCATOR: Allocator = Allocator {
    free: UnsafeCell::new([null_mut(); LARGEST_SMALL_BYTES / STEP_BYTES + 1]),
    chunk: UnsafeCell::new(Chunk { next: null_mut(), left: 0 }),
    is_zeroing: Cell::new(false),
};

struct Allocator {
    /// Freed blocks by size in steps, each holding the address of the next.
    free: UnsafeCell<[*mut Block; LARGEST_SMALL_BYTES / STEP_BYTES + 1]>,
    chunk: UnsafeCell<Chunk>,
    is_zeroing: Cell<bool>,
}

struct Block {
    next: *mut Block,
}

/// What is left of the memory last taken from the system.
struct Chunk {
    next: *mut u8,
    left: usize,
}

// SAFETY: WebAssembly gives this instance one thread.
unsafe impl Sync for Allocator {}

/// Runs `work`; what it frees reads as zero afterwards.
pub(crate) fn zero_what_is_freed<T>(work: impl FnOnce() -> T) -> T {
    ALLOCATOR.is_zeroing.set(true);
    let result = work();
    ALLOCATOR.is_zeroing.set(false);
    result
}

/// Gives up every hole in the heap for good, so that what a run allocates lies side by side behind it.
///
/// A run that filled holes would write to a page here and a page there. The host puts written pages back after the run,
/// and does that cheaply for a few dozen stretches of them only; every page beyond is unmapped and costs a fault next
/// time. Room for an ordinary run is made here too: growing memory during a run costs it two system calls.
pub(crate) fn leave_holes_behind() {
    ALLOCATOR.forget_free_blocks();
    fill_holes_of_the_system();
    ALLOCATOR.take_chunk(ROOM_FOR_SMALL_BYTES);
    let (room, layout) = take_from_system(ROOM_FOR_LARGE_BYTES);
    // SAFETY: just taken, with this layout.
    unsafe { System.dealloc(room, layout) };
}

fn take_from_system(size: usize) -> (*mut u8, Layout) {
    // SAFETY: no caller's size is zero or overflows when rounded up.
    let layout = unsafe { Layout::from_size_align_unchecked(size, STEP_BYTES) };
    // SAFETY: no caller's size is zero.
    (unsafe { System.alloc(layout) }, layout)
}

fn fill_holes_of_the_system() {
    const LARGEST_BYTES: usize = 64 << 10;
    // The first block that makes memory grow stands at the end of the heap.
    let end = loop {
        let before = memory_pages();
        let (block, layout) = take_from_system(LARGEST_BYTES);
        if block.is_null() || memory_pages() > before {
            // SAFETY: just taken, with this layout; the system ignores null.
            unsafe { System.dealloc(block, layout) };
            break block;
        }
    };
    let mut size = LARGEST_BYTES;
    while size >= STEP_BYTES {
        let (block, layout) = take_from_system(size);
        if block >= end {
            // SAFETY: just taken, with this layout.
            unsafe { System.dealloc(block, layout) };
            size /= 2;
        }
    }
}

/// Grows when the system takes more memory.
fn memory_pages() -> usize {
    #[cfg(target_arch = "wasm32")]
    return core::arch::wasm32::memory_size(0);
    #[cfg(not(target_arch = "wasm32"))]
    0
}

/// The size of a small block in steps; `None` for what is the system's.
fn steps(layout: Layout) -> Option<usize> {
    let is_small = layout.size() <= LARGEST_SMALL_BYTES && layout.align() <= STEP_BYTES;
    is_small.then(|| layout.size().div_ceil(STEP_BYTES))
}

// === impl Allocator ===

impl Allocator {
    /// A block of so many steps.
    fn take(&self, steps: usize) -> *mut u8 {
        // SAFETY: one thread, and the reference is not used after another one is made.
        let free = unsafe { &mut (*self.free.get())[steps] };
        if !free.is_null() {
            let block = *free;
            // SAFETY: what is in a list is a free block, which holds the address of the next.
            *free = unsafe { (*block).next };
            return block.cast();
        }
        let size = steps * STEP_BYTES;
        // SAFETY: one thread, and nothing refers into the cell.
        let is_used_up = unsafe { (*self.chunk.get()).left < size };
        if is_used_up && !self.take_chunk(CHUNK_BYTES) {
            return null_mut();
        }
        // SAFETY: one thread, and the reference ends with this call.
        let chunk = unsafe { &mut *self.chunk.get() };
        let block = chunk.next;
        chunk.next = block.wrapping_add(size);
        chunk.left -= size;
        block
    }

    fn give_back(&self, block: *mut u8, steps: usize) {
        let block = block.cast::<Block>();
        // SAFETY: a small block has room for an address, and its owner gave it back: there is no other reference to it.
        unsafe {
            let free = &mut (*self.free.get())[steps];
            (*block).next = *free;
            *free = block;
        }
    }

    /// Replaces the chunk; `false` when there is no memory. What is left of the old one becomes blocks.
    fn take_chunk(&self, size: usize) -> bool {
        let (next, _) = take_from_system(size);
        if next.is_null() {
            return false;
        }
        // SAFETY: as in `take`.
        let old = unsafe { std::mem::replace(&mut *self.chunk.get(), Chunk { next, left: size }) };
        let steps = old.left / STEP_BYTES;
        if (1..=LARGEST_SMALL_BYTES / STEP_BYTES).contains(&steps) {
            self.give_back(old.next, steps);
        }
        true
    }

    fn forget_free_blocks(&self) {
        // SAFETY: as in `take`; every address in a list is that of a free block.
        for list in unsafe { &mut *self.free.get() } {
            while !list.is_null() {
                let block = *list;
                // SAFETY: as above; the block is in no other list.
                *list = unsafe { std::mem::replace(&mut (*block).next, null_mut()) };
            }
        }
    }
}

// SAFETY: a small block is at least as large and as aligned as its layout asks, and is in one list or one owner's hands;
// every other call is handed on to `System` with the layout it came with. Zeroing stays within the layout.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match steps(layout) {
            Some(steps) => self.take(steps),
            // SAFETY: the caller's layout, handed on.
            None => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if self.is_zeroing.get() {
            // SAFETY: the caller gives up a block of this layout.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        match steps(layout) {
            Some(steps) => self.give_back(block, steps),
            // SAFETY: what is not small came from the system, with this layout.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size` is a valid one.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (steps(layout), steps(wanted)) {
            (Some(old), Some(new)) if old == new => return block,
            // While zeroing, the system must not move a block: it would leave the old bytes behind.
            (None, None) if !self.is_zeroing.get() => {
                // SAFETY: the block is the system's, and stays so at the new size.
                return unsafe { System.realloc(block, layout, size) };
            }
            _ => {}
        }
        // SAFETY: the caller promises a size that is not zero.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both are at least as large as what is copied, and they differ; the old one is the caller's to give up.
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}
