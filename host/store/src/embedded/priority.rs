//! The writer comes before threads that compute: every run of a group waits for it, and it computes little. Without this it
//! waits for their time slices, some milliseconds for each commit, when more threads are ready than there are processors.

/// Of the forty steps that a thread's share of the processor has: three times as much. Where a thread may not go first, those
/// that compute may give way by as much.
pub const GOES_FIRST_BY: i32 = 5;

const SLICE_US: u64 = 100;

/// The calling thread, as far as it may: a larger share is for root, and for whom the limit of `RLIMIT_NICE` lets.
pub(super) fn go_first() {
    let Ok(own) = rustix::process::getpriority_process(None) else { return };
    let first = own - GOES_FIRST_BY;
    // Best effort, as all of this is.
    let _ = rustix::process::setpriority_process(None, first);
    ask_for_slices(SLICE_US);
}

/// How long Linux lets the calling thread run at a time, from 6.12 on. One that asks for less than the one that runs is not made
/// to wait for it.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "neither the standard library nor rustix has this system call")]
pub fn ask_for_slices(slice_us: u64) {
    let Ok(nice) = rustix::process::getpriority_process(None) else { return };
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: slice_us.saturating_mul(1000),
        sched_deadline: 0,
        sched_period: 0,
    };
    let (this_thread, no_flags) = (0, 0);
    // SAFETY: Linux reads one structure, of the size that it names, and keeps nothing of it.
    unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, &raw const attributes, no_flags) };
}

#[cfg(not(target_os = "linux"))]
pub fn ask_for_slices(_: u64) {}
