//! The allocator under QuickJS and Rust alike.
//!
//! While an image is being made it overwrites what is freed with zeros: pages of zeros are not stored, so the
//! source text and garbage of loading never weigh on an image. During a run it is the system's allocator and nothing else.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ZEROING: AtomicBool = AtomicBool::new(false);

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Runs `work`; what it frees reads as zero afterwards.
pub(crate) fn zero_what_is_freed<T>(work: impl FnOnce() -> T) -> T {
    ZEROING.store(true, Relaxed);
    let result = work();
    ZEROING.store(false, Relaxed);
    result
}

// SAFETY: every call is handed on to `System` with the layout it came with; zeroing stays within that layout.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if ZEROING.load(Relaxed) {
            unsafe { block.write_bytes(0, layout.size()) };
        }
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !ZEROING.load(Relaxed) {
            return unsafe { System.realloc(block, layout, size) };
        }
        // The system would move the block and leave the old bytes behind.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !moved.is_null() {
            unsafe {
                moved.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}
