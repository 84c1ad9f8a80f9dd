//! Worker processes from settings: this program again, as `wellspring sandbox-worker`.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Duration;

use sandbox::{Isolation, Processes, WorkerSettings};

use crate::settings::{Isolate, Settings};

/// The command that makes this program a worker. Not for people: it is not in the help.
pub(crate) const COMMAND: &str = "sandbox-worker";

/// More workers cost memory and isolate better; a machine of many cores gets no more than this by itself.
const MOST_GROUPS: usize = 16;
/// Each guest may have 128 MiB by default, and a tenant 64 runs at once: this is where they end together.
const WORKER_MEMORY_BYTES: u64 = 8 << 30;

/// A machine that is this busy for so long has other problems.
const MARGIN: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
pub(crate) struct WorkerArguments {
    /// Shown in the list of processes
    #[arg(long)]
    name: String,
    /// The process that started it
    #[arg(long)]
    parent: u32,
    #[arg(long)]
    threads: usize,
    #[arg(long)]
    memory_bytes: u64,
    #[arg(long)]
    builds: bool,
}

pub(crate) fn of(settings: &Settings) -> Isolation {
    match settings.isolate {
        Isolate::None => Isolation::None,
        Isolate::Process => processes(settings.isolate_groups),
    }
}

/// Worker processes of this very program, also when its file has been replaced since it was started.
pub fn processes(groups: Option<usize>) -> Isolation {
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let groups = groups.unwrap_or((cores * 2).clamp(2, MOST_GROUPS));
    Isolation::Process(Processes {
        program: "/proc/self/exe".into(),
        arguments: vec![COMMAND.into()],
        groups: NonZeroUsize::new(groups).unwrap_or(NonZeroUsize::MIN),
        threads: cores,
        memory_bytes: WORKER_MEMORY_BYTES,
        margin: MARGIN,
    })
}

/// The whole of such a process. Called before it has a second thread.
pub(crate) fn run(arguments: &WorkerArguments) -> ExitCode {
    let WorkerArguments { name: _, parent, threads, memory_bytes, builds } = *arguments;
    sandbox::worker_main(&WorkerSettings { parent, threads, memory_bytes, builds })
}
