//! Worker processes: started, watched and ended by one thread.
//!
//! A thread, because the kernel ends a worker with the thread that started it, and threads of the runtime come and go. It also
//! looks at the clock when the runtime is busy, so that a run that is overdue ends in any case.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::connection::{Connection, Ended};
use super::{Processes, wire};

/// How often overdue runs are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The way to that thread. Cheap to clone; it ends with the last one.
#[derive(Clone)]
pub(super) struct Supervisor {
    orders: mpsc::Sender<Order>,
    ended: Arc<AtomicU64>,
}

/// A worker that runs.
pub(super) struct Process {
    child: Child,
    name: String,
}

enum Order {
    Start { name: String, is_builder: bool, answer: oneshot::Sender<io::Result<(Process, OwnedFd)>> },
    Watch(Weak<Connection>),
    End(Process, Ended),
}

// === impl Supervisor ===

impl Supervisor {
    pub(super) fn new(config: Processes) -> io::Result<Self> {
        let (orders, taken) = mpsc::channel();
        let ended = Arc::new(AtomicU64::new(0));
        let of_thread = ended.clone();
        std::thread::Builder::new().name("sandbox-workers".into()).spawn(move || serve(&config, &taken, &of_thread))?;
        Ok(Self { orders, ended })
    }

    pub(super) async fn start(&self, name: String, is_builder: bool) -> io::Result<(Process, OwnedFd)> {
        let (answer, answered) = oneshot::channel();
        // A thread that is gone shows in the answer.
        let _ = self.orders.send(Order::Start { name, is_builder, answer });
        answered.await.map_err(|_| io::Error::other("the thread that starts workers has ended"))?
    }

    pub(super) fn watch(&self, connection: &Arc<Connection>) {
        let _ = self.orders.send(Order::Watch(Arc::downgrade(connection)));
    }

    /// Kills the process, if it lives, and says in the log how it ended.
    pub(super) fn end(&self, process: Process, why: Ended) {
        let _ = self.orders.send(Order::End(process, why));
    }

    /// How many workers ended that should not have.
    pub(super) fn failures(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }
}

// === impl Process ===

impl Process {
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn end(mut self, why: &Ended, failures: &AtomicU64) {
        // One that is gone already needs no killing.
        let _ = self.child.kill();
        let status = self.child.wait();
        if matches!(why, Ended::Stopped) {
            return;
        }
        failures.fetch_add(1, Ordering::Relaxed);
        let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(worker = self.name, why = %why, status, "a sandbox worker ended; its runs failed");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own reaps worker processes; the kernel keeps their time"
)]
fn serve(config: &Processes, orders: &mpsc::Receiver<Order>, failures: &AtomicU64) {
    let mut watched: Vec<Weak<Connection>> = Vec::new();
    let mut next_look = Instant::now() + LOOK_EVERY;
    loop {
        match orders.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
            Ok(Order::Start { name, is_builder, answer }) => {
                if let Err(Ok((process, _))) = answer.send(start(config, name, is_builder)) {
                    process.end(&Ended::Stopped, failures);
                }
            }
            Ok(Order::Watch(connection)) => watched.push(connection),
            Ok(Order::End(process, why)) => process.end(&why, failures),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let now = Instant::now();
                watched.retain(|connection| connection.upgrade().is_some_and(|connection| connection.look(now)));
                next_look = now + LOOK_EVERY;
            }
        }
    }
}

fn start(config: &Processes, name: String, is_builder: bool) -> io::Result<(Process, OwnedFd)> {
    let (host, worker) = wire::pair()?;
    let mut command = Command::new(&config.program);
    command
        .args(&config.arguments)
        .args(["--name", &name])
        .args(["--parent", &std::process::id().to_string()])
        .args(["--threads", &config.threads.to_string()])
        .args(["--memory-bytes", &config.memory_bytes.to_string()])
        .env_clear()
        .current_dir("/")
        // Ctrl-C in a terminal is for the host, which finishes what is under way.
        .process_group(0)
        .stdin(Stdio::from(worker))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    if is_builder {
        command.arg("--builds");
    }
    Ok((Process { child: command.spawn()?, name }, host))
}
