//! Whether a run wrote where its slot had not been written before.
//!
//! The first write to a page of a private mapping is a fault of the thread that writes, and Linux counts those by thread. What
//! began and ended within one poll, and met no fault, has dirtied no page but those that were dirty before. Then they need
//! not be looked for, which costs more than to ask for the count.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

thread_local! {
    /// The number of the poll that is under way on this thread; none has it twice.
    static POLL: Cell<Option<u64>> = const { Cell::new(None) };
    static NEXT: Cell<u64> = Cell::new(first_number());
}

/// A future whose polls can be told apart.
pub(crate) struct Numbered<F>(pub(crate) F);

/// A moment of a poll.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    poll: u64,
    faults: u64,
}

/// A poll, while it lasts.
struct Polled {
    outer: Option<u64>,
}

// === impl Numbered ===

impl<F: Future + Unpin> Future for Numbered<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _polled = Polled::begin();
        Pin::new(&mut self.get_mut().0).poll(context)
    }
}

// === impl Polled ===

impl Polled {
    fn begin() -> Self {
        let number = NEXT.get();
        NEXT.set(number + 1);
        Self { outer: POLL.replace(Some(number)) }
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        POLL.set(self.outer);
    }
}

// === impl Moment ===

impl Moment {
    /// None outside of polls, and where the system does not count. Two that are equal had no fault in between.
    pub(super) fn now() -> Option<Self> {
        Some(Self { poll: POLL.get()?, faults: faults()? })
    }
}

/// Each thread has numbers of its own, enough for centuries.
fn first_number() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    THREADS.fetch_add(1, Ordering::Relaxed) << 44
}

#[cfg(not(target_os = "linux"))]
fn faults() -> Option<u64> {
    None
}

/// Page faults of this thread so far.
#[cfg(target_os = "linux")]
fn faults() -> Option<u64> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    #[expect(unsafe_code, reason = "there is no safe way to this system call")]
    // SAFETY: it writes a `rusage`, of which zeros are one too.
    let usage =
        unsafe { (libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0).then(|| usage.assume_init())? };
    u64::try_from(usage.ru_minflt.checked_add(usage.ru_majflt)?).ok()
}
