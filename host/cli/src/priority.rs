//! Which threads come first when more are ready than there are processors: the one that commits, because all runs of a group wait
//! for it. Without this a component that computes makes every commit wait for the system's time slice, some milliseconds.
//!
//! The thread goes first where the process may do that (as root, or with `LimitNICE=`, as the unit file has it). Elsewhere those that compute give
//! way, which is for everyone to do, and also lets other programs of the machine go first.

use rustix::process::{getpriority_process, setpriority_process};
use store::embedded::GOES_FIRST_BY;

/// Whether threads of this process may have more than their share; tried on the one that asks.
pub(crate) fn may_go_first() -> bool {
    getpriority_process(None).is_ok_and(|own| {
        let may = setpriority_process(None, own - GOES_FIRST_BY).is_ok();
        may && setpriority_process(None, own).is_ok()
    })
}

/// The calling thread takes a smaller share from now on.
pub(crate) fn give_way() {
    let own = getpriority_process(None);
    // Everyone may; and where not, nothing is lost but time.
    let _ = own.and_then(|own| setpriority_process(None, own + GOES_FIRST_BY));
}
