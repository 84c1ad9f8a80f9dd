//! Asks Linux for the dirty pages of a private mapping (`PAGEMAP_SCAN`).

use std::ops::Range;

/// The scan ends early beyond this many ranges: they are not worth restoring one by one.
const MOST_STRETCHES: usize = 128;

pub(super) struct Changed {
    stretches: [PageRange; MOST_STRETCHES],
    found: usize,
    start: u64,
    looked_at: u64,
}

/// `page_region` of linux/fs.h.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct PageRange {
    start: u64,
    end: u64,
    categories: u64,
}

// === impl Changed ===

impl Changed {
    /// Offsets from where the look began.
    pub(super) fn stretches(&self) -> impl Iterator<Item = Range<usize>> {
        let offset = |at: u64| at.saturating_sub(self.start) as usize;
        self.stretches.iter().take(self.found).map(move |stretch| offset(stretch.start)..offset(stretch.end))
    }

    /// How far the look went: beyond, any page may have changed.
    pub(super) fn looked_at(&self) -> usize {
        self.looked_at.saturating_sub(self.start) as usize
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_known() -> bool {
    false
}

/// Also opens the file that is asked, once for all.
#[cfg(target_os = "linux")]
pub(super) fn is_known() -> bool {
    linux::PageMap::get().is_some()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn changed(_: *const u8, _: usize, _: usize) -> Option<Changed> {
    None
}

/// Looks for at most so many pages. None where the system cannot tell: Linux before 6.7, or a container that hides it.
#[cfg(target_os = "linux")]
pub(super) fn changed(memory: *const u8, length: usize, most_pages: usize) -> Option<Changed> {
    use linux::{PageMap, Scan};

    let mut changed = Changed {
        stretches: [PageRange::default(); MOST_STRETCHES],
        found: 0,
        start: memory.addr() as u64,
        looked_at: 0,
    };
    let mut scan = Scan::new(changed.start..changed.start + length as u64, &mut changed.stretches, most_pages);
    changed.found = PageMap::get()?.scan(&mut scan)?;
    changed.looked_at = scan.looked_at();
    Some(changed)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::c_void;
    use std::fs::File;
    use std::ops::Range;
    use std::sync::OnceLock;

    use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};

    use super::PageRange;

    const IS_FILE: u64 = 1 << 2;
    const IS_PRESENT: u64 = 1 << 3;
    const IS_SWAPPED: u64 = 1 << 4;
    const IS_ZERO: u64 = 1 << 5;

    /// `pm_scan_arg` of linux/fs.h.
    #[derive(Default)]
    #[repr(C)]
    pub(super) struct Scan {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        stretches: u64,
        most_stretches: u64,
        most_pages: u64,
        inverted: u64,
        all_of: u64,
        any_of: u64,
        returned: u64,
    }

    impl Scan {
        pub(super) fn new(range: Range<u64>, stretches: &mut [PageRange], most_pages: usize) -> Self {
            Self {
                size: size_of::<Self>() as u64,
                start: range.start,
                end: range.end,
                stretches: stretches.as_mut_ptr().addr() as u64,
                most_stretches: stretches.len() as u64,
                most_pages: most_pages as u64,
                // A page that was only read is still the file's, or the one page of zeros.
                inverted: IS_FILE | IS_ZERO,
                all_of: IS_FILE | IS_ZERO,
                // One that was written and is being moved or is swapped out is not present and yet has changed.
                any_of: IS_PRESENT | IS_SWAPPED,
                ..Self::default()
            }
        }

        pub(super) fn looked_at(&self) -> u64 {
            self.walk_end
        }
    }

    /// `/proc/self/pagemap`
    pub(super) struct PageMap(File);

    impl PageMap {
        pub(super) fn get() -> Option<&'static Self> {
            static PAGE_MAP: OnceLock<Option<PageMap>> = OnceLock::new();
            PAGE_MAP.get_or_init(|| File::open("/proc/self/pagemap").ok().map(PageMap)).as_ref()
        }

        /// How many stretches were found.
        pub(super) fn scan(&self, scan: &mut Scan) -> Option<usize> {
            #[expect(unsafe_code, reason = "there is no safe way to this system call")]
            // SAFETY: the system writes to `scan` and to the stretches it names, whose number it knows.
            unsafe {
                ioctl(&self.0, Scanning(scan)).ok()
            }
        }
    }

    struct Scanning<'a>(&'a mut Scan);

    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: PAGEMAP_SCAN is number 16 of group f; it takes a `pm_scan_arg` and answers with a number.
    unsafe impl Ioctl for Scanning<'_> {
        type Output = usize;

        const IS_MUTATING: bool = true;

        fn opcode(&self) -> Opcode {
            opcode::read_write::<Scan>(b'f', 16)
        }

        fn as_ptr(&mut self) -> *mut c_void {
            std::ptr::from_mut(self.0).cast()
        }

        unsafe fn output_from_ptr(found: IoctlOutput, _: *mut c_void) -> rustix::io::Result<usize> {
            Ok(found as usize)
        }
    }
}
