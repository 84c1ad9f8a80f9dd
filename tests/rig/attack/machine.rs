//! The clients' machines. A client of a real server has processors of its own; here it has those of the server, so it runs on
//! a thread that comes before or after the server's.

use std::future::Future;
use std::process::{Command, Stdio};

use tokio::sync::oneshot;

#[derive(Clone, Copy)]
pub(super) enum Place {
    /// How long an answer takes is measured, not how long it lies there. Only the superuser may take the processor from
    /// others; else that counts as well.
    First,
    /// The server has to do what its clients ask of it, and not their own work.
    Last,
}

/// Begins at once, with connections of its own.
pub(super) fn on_another<Made, Work>(
    place: Place,
    make: impl FnOnce() -> Work + Send + 'static,
) -> impl Future<Output = Made>
where
    Made: Send + 'static,
    Work: Future<Output = Made>,
{
    let (done, made) = oneshot::channel();
    std::thread::spawn(move || {
        match place {
            Place::First => drop(rustix::process::setpriority_process(None, -20)),
            Place::Last => run_when_idle(),
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = done.send(runtime.block_on(make()));
    });
    async { made.await.unwrap() }
}

/// The calling thread, where there is util-linux; else it counts.
fn run_when_idle() {
    let Ok(thread) = std::fs::read_link("/proc/thread-self") else { return };
    let Some(id) = thread.file_name() else { return };
    let mut chrt = Command::new("chrt");
    chrt.args(["--idle", "--pid", "0"]).arg(id).stdout(Stdio::null()).stderr(Stdio::null());
    drop(chrt.status());
}
