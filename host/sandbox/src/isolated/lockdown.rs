//! What a worker gives up before the first tenant's code runs in it: files, network, programs, other processes, privileges.
//!
//! In two steps. The first is taken while the process has one thread, because Landlock and namespaces bind the thread that asks
//! for them, and threads made later inherit them. The second is the filter of system calls, for all threads at once, when nothing
//! has to be opened any more. Without that filter a worker does not start; the other layers are reported and may be missing.

mod filter;
mod probes;

use std::io;

pub use probes::Probe;
pub(super) use probes::probe;

/// Descriptors of a worker: its images, and some of its own.
const MOST_FILES: u64 = 1024;
/// What the memory of a component is written to. A worker that builds nothing writes no file at all.
const MOST_FILE_BYTES: u64 = 4 << 30;

/// One of the restrictions, and why it is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub name: String,
    pub missing: Option<String>,
}

/// What a worker is told on its command line, because it is needed before the first frame.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    pub parent: u32,
    pub threads: usize,
    /// Of what is mapped to be written, beside what the program itself begins with.
    pub memory_bytes: u64,
    pub builds: bool,
}

/// The first step: called before the process has a second thread.
pub(super) fn begin(settings: &WorkerSettings) -> io::Result<Vec<Layer>> {
    close_inherited()?;
    // They are for the host, which finishes what is under way and then ends its workers.
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        ignore(signal);
    }
    // What knows which pages were written must be opened while files can be.
    let knows_pages = crate::slots::Slots::prepare();
    let mut layers = vec![
        layer("no new privileges", prctl(libc::PR_SET_NO_NEW_PRIVS, 1)),
        layer("namespaces", leave_namespaces()),
        layer("resource limits", limit_resources(settings)),
        layer("landlock", restrict_files()),
        layer("no dumps", prctl(libc::PR_SET_DUMPABLE, 0)),
        // After the namespaces: the kernel forgets it when credentials change.
        layer("ends with the host", end_with(settings.parent)),
    ];
    if !knows_pages {
        layers.push(missing("written pages are known", "/proc/self/pagemap cannot be used; runs are slower"));
    }
    Ok(layers)
}

/// The second step: called when all threads there will ever be exist.
pub(super) fn finish(layers: &mut Vec<Layer>) -> io::Result<()> {
    silence()?;
    layers.push(layer("no new threads", limit(libc::RLIMIT_NPROC, 0)));
    filter::apply()?;
    layers.push(layer("system calls", Ok(())));
    Ok(())
}

fn layer(name: &str, applied: io::Result<()>) -> Layer {
    Layer { name: name.to_owned(), missing: applied.err().map(|error| error.to_string()) }
}

fn missing(name: &str, why: &str) -> Layer {
    Layer { name: name.to_owned(), missing: Some(why.to_owned()) }
}

/// No file and no socket by name, no signal to others. Whatever is open stays open.
fn restrict_files() -> io::Result<()> {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
    // The newest version that is known here; an older kernel applies what it has.
    const NEWEST: ABI = ABI::V6;
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    match ruleset.map_err(io::Error::other)?.ruleset {
        RulesetStatus::NotEnforced => Err(io::Error::other("this kernel has no Landlock")),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(()),
    }
}

#[expect(unsafe_code, reason = "there is no safe way to these system calls")]
mod system {
    use std::io;

    use super::{MOST_FILE_BYTES, MOST_FILES, WorkerSettings};
    use crate::region::MACHINE_PAGE_BYTES;

    /// What C libraries number limits with.
    #[cfg(target_env = "gnu")]
    type Resource = libc::__rlimit_resource_t;
    #[cfg(not(target_env = "gnu"))]
    type Resource = libc::c_int;

    fn done(returned: libc::c_int) -> io::Result<()> {
        if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Standard input is the socket; beyond standard error nothing is inherited on purpose.
    pub(super) fn close_inherited() -> io::Result<()> {
        // SAFETY: nothing in this process owns a descriptor yet.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
        done(closed as libc::c_int)
    }

    pub(super) fn ignore(signal: libc::c_int) {
        // SAFETY: ignoring a signal runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }

    pub(super) fn prctl(option: libc::c_int, value: libc::c_ulong) -> io::Result<()> {
        // SAFETY: the options used here take a number and touch no memory.
        done(unsafe { libc::prctl(option, value, 0, 0, 0) })
    }

    /// A user without rights anywhere else, and a network without interfaces.
    pub(super) fn leave_namespaces() -> io::Result<()> {
        let others = libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        // SAFETY: the process has one thread, and shares no memory.
        done(unsafe { libc::unshare(libc::CLONE_NEWUSER | others) })
            // An administrator may have forbidden users of their own and given the process the right to the rest.
            .or_else(|error| done(unsafe { libc::unshare(others) }).map_err(|_| error))
    }

    pub(super) fn end_with(parent: u32) -> io::Result<()> {
        prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
        // SAFETY: it touches nothing.
        if unsafe { libc::getppid() } as u32 != parent {
            return Err(io::Error::other("the host is gone"));
        }
        Ok(())
    }

    pub(super) fn limit(resource: Resource, most: u64) -> io::Result<()> {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: the limit is read during the call.
        done(unsafe { libc::setrlimit(resource, &raw const limit) })
    }

    /// Not address space: every guest reserves four gigabytes of it. What counts is what can be written to, and the allocator
    /// has set aside some of that before.
    pub(super) fn limit_resources(settings: &WorkerSettings) -> io::Result<()> {
        limit(libc::RLIMIT_CORE, 0)?;
        limit(libc::RLIMIT_NOFILE, MOST_FILES)?;
        limit(libc::RLIMIT_FSIZE, if settings.builds { MOST_FILE_BYTES } else { 0 })?;
        let at_first = writable_bytes().ok_or_else(|| io::Error::other("/proc/self/statm cannot be read"))?;
        limit(libc::RLIMIT_DATA, settings.memory_bytes.saturating_add(at_first))
    }

    /// The sixth number of `statm` is data and stack, in pages.
    fn writable_bytes() -> Option<u64> {
        let sizes = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = sizes.split(' ').nth(5)?.trim().parse().ok()?;
        pages.checked_mul(MACHINE_PAGE_BYTES as u64)
    }

    /// From here on what a worker has to say goes through its socket: standard error is the operator's log.
    pub(super) fn silence() -> io::Result<()> {
        // SAFETY: both are descriptors of this process; the second is standard output, which leads nowhere.
        let duplicated = unsafe { libc::dup2(libc::STDOUT_FILENO, libc::STDERR_FILENO) };
        if duplicated < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
use system::{close_inherited, end_with, ignore, leave_namespaces, limit, limit_resources, prctl, silence};
