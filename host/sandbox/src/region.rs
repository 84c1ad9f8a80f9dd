//! Stretches of the server's address space: the raw material of guests' memories and stacks.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr::{NonNull, null_mut};

#[cfg(target_os = "linux")]
use rustix::mm::{Advice, madvise};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap, mmap_anonymous, mprotect, munmap};

pub(crate) const MACHINE_PAGE_BYTES: usize = 4 << 10;
/// In some tens of microseconds.
#[cfg(target_os = "linux")]
const EMPTIED_AT_ONCE: usize = 1 << 20;

/// A stretch that is ours until it is dropped. Offsets into it are whole machine pages.
#[derive(Debug)]
pub(crate) struct Region {
    start: NonNull<u8>,
    length: usize,
}

#[expect(unsafe_code, reason = "it owns what it points to, as a vector does")]
// SAFETY: a region is a range of addresses; each read or write through it states why it is sound.
unsafe impl Send for Region {}
#[expect(unsafe_code, reason = "as above")]
// SAFETY: as above.
unsafe impl Sync for Region {}

// === impl Region ===

#[expect(unsafe_code, reason = "memory is mapped, only ever inside of the region")]
impl Region {
    /// Addresses without memory behind them: touching them is a fault.
    pub(crate) fn reserve(length: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses addresses that are not in use.
        let start = unsafe { mmap_anonymous(null_mut(), length, ProtFlags::empty(), flags)? };
        Self::new(start.cast(), length)
    }

    /// A file to be read.
    pub(crate) fn of_file(file: &File, length: usize) -> io::Result<Self> {
        // SAFETY: the kernel chooses addresses that are not in use.
        let start = unsafe { mmap(null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, 0)? };
        Self::new(start.cast(), length)
    }

    fn new(start: *mut u8, length: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("memory was mapped at address zero"))?;
        Ok(Self { start, length })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Gives back what is there and makes touching it a fault again.
    pub(crate) fn close(&mut self, range: Range<usize>) -> io::Result<()> {
        self.empty(&range);
        let at = self.at(&range);
        if !range.is_empty() {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
            // SAFETY: the addresses are this region's, which is borrowed mutably.
            unsafe { mmap_anonymous(at.cast(), range.len(), ProtFlags::empty(), flags)? };
        }
        Ok(())
    }

    /// Gives back the pages of a long range, of memory that no file is behind. While the system maps or unmaps, no other thread
    /// of the process can, so that is left with little to do.
    fn empty(&mut self, range: &Range<usize>) {
        #[cfg(target_os = "linux")]
        for from in range.clone().step_by(EMPTIED_AT_ONCE).skip(usize::from(range.len() <= EMPTIED_AT_ONCE)) {
            let piece = from..range.end.min(from + EMPTIED_AT_ONCE);
            // SAFETY: as in `close`. What cannot be given back here is when the range is mapped anew.
            let _ = unsafe { madvise(self.at(&piece).cast(), piece.len(), Advice::LinuxDontNeed) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = range;
    }

    /// Puts zeros where nothing was.
    pub(crate) fn open(&mut self, range: Range<usize>) -> io::Result<()> {
        let at = self.at(&range);
        // SAFETY: as in `close`.
        unsafe { mprotect(at.cast(), range.len(), MprotectFlags::READ | MprotectFlags::WRITE)? };
        Ok(())
    }

    /// Puts this part of a file there, as a copy of our own: what is written stays in the region.
    pub(crate) fn copy_of(&mut self, file: &File, from: usize, range: Range<usize>) -> io::Result<()> {
        let at = self.at(&range);
        if !range.is_empty() {
            let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::FIXED);
            // SAFETY: as in `close`.
            unsafe { mmap(at.cast(), range.len(), access, flags, file, from as u64)? };
        }
        Ok(())
    }

    /// # Panics
    ///
    /// If the range is not inside of the region.
    fn at(&self, range: &Range<usize>) -> *mut u8 {
        assert!(range.start <= range.end && range.end <= self.length, "{range:?} of {} bytes", self.length);
        self.start().wrapping_add(range.start)
    }
}

/// Lets the processor execute whole pages of this program that hold code.
pub(crate) fn make_executable(start: *const u8, length: usize) -> io::Result<()> {
    #[expect(unsafe_code, reason = "pages that hold code are made executable, and stay readable and unwritable")]
    // SAFETY: nothing that is read there changes; the caller says that it is code.
    unsafe { mprotect(start.cast_mut().cast(), length, MprotectFlags::READ | MprotectFlags::EXEC) }?;
    Ok(())
}

impl Drop for Region {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "no borrow of its addresses outlives it")]
        // SAFETY: a region owns its addresses, and what borrowed from it is gone.
        let done = unsafe { munmap(self.start().cast(), self.length) };
        debug_assert!(done.is_ok(), "{done:?}");
    }
}
