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

/// Takes every hole in the heap for good, so that what a run allocates lies side by side behind it.
///
/// A run that filled holes would write to a page here and a page there. The host puts written pages back after the run,
/// and does that cheaply for a few dozen stretches of them only; every page beyond is unmapped and costs a fault next time.
pub(crate) fn fill_holes() {
    const LARGEST_BYTES: usize = 64 << 10;
    const SMALLEST_BYTES: usize = 16;
    let take = |size: usize| {
        // SAFETY: neither size is zero, and the block is either leaked or given back with the same layout.
        let layout = unsafe { Layout::from_size_align_unchecked(size, 8) };
        (unsafe { System.alloc(layout) }, layout)
    };
    // The first block that makes memory grow stands at the end of the heap.
    let end = loop {
        let before = core::arch::wasm32::memory_size(0);
        let (block, layout) = take(LARGEST_BYTES);
        if block.is_null() || core::arch::wasm32::memory_size(0) > before {
            unsafe { System.dealloc(block, layout) };
            break block;
        }
    };
    let mut size = LARGEST_BYTES;
    while size >= SMALLEST_BYTES {
        let (block, layout) = take(size);
        if block >= end {
            unsafe { System.dealloc(block, layout) };
            size /= 2;
        }
    }
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
