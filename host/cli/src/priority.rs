//! Which threads come first when more are ready than there are processors. First the one that commits, because all runs of a
//! group wait for it: without this a component that computes makes every commit wait for the system's time slice, some
//! milliseconds. Then those that serve requests, and last those that work in the background.
//!
//! The thread that commits goes first where the process may do that (as root, or with `LimitNICE=`, as the unit file has it).
//! Elsewhere those that compute give way, which every process may do, and also lets other programs of the machine go first.

use rustix::process::{getpriority_process, setpriority_process};
use store::embedded::{GOES_FIRST_BY, ask_for_slices};

/// What a thread asks of the system.
#[derive(Clone, Copy)]
pub(crate) struct Priority {
    /// Of the forty steps of a thread's share of the processor.
    gives_way_by: i32,
    /// One with shorter slices does not wait for the end of a longer one.
    slice_us: u64,
}

// === impl Priority ===

impl Priority {
    pub(crate) fn of_requests() -> Self {
        Self { gives_way_by: if may_go_first() { 0 } else { GOES_FIRST_BY }, slice_us: 500 }
    }

    /// Two fifths of what requests have while both want the processor: deliveries must not starve either.
    pub(crate) fn of_background_work() -> Self {
        Self { gives_way_by: Self::of_requests().gives_way_by + 4, slice_us: 5000 }
    }

    /// The calling thread has it from now on. Where it may not, nothing is lost but time.
    pub(crate) fn take(self) {
        let own = getpriority_process(None);
        let _ = own.and_then(|own| setpriority_process(None, own + self.gives_way_by));
        ask_for_slices(self.slice_us);
    }
}

/// Whether threads of this process may have more than their share; tried on the one that asks.
fn may_go_first() -> bool {
    getpriority_process(None).is_ok_and(|own| {
        let may = setpriority_process(None, own - GOES_FIRST_BY).is_ok();
        may && setpriority_process(None, own).is_ok()
    })
}
