//! A worker process: runs components for the host, and can do nothing else.
//!
//! It has a socket to the host, the compiled engine, and the images the host gave it. What tenants' code could reach by breaking
//! out of WebAssembly is this process: its own group's runs, and nothing behind the socket that the host does not check.

mod build;
mod remote;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::pin::pin;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::unix::AsyncFd;
use tokio::task::AbortHandle;

use super::codec::Malformed;
use super::lockdown::{self, Layer, WorkerSettings};
use super::outbox::Outbox;
use super::protocol::{Frame, Hello, Install, NO_RUN, Start, Written, read_program, to_host, to_worker, write_reason};
use super::wire::{self, Inbox, Received};
use crate::engine::Engine;
use crate::outcome::Outcome;
use crate::program::{Packed, Sources};
use crate::run::{Run, Started};
use crate::sandbox::{Error, INVOKE, Inner};
use crate::snapshot::Snapshot;
use crate::tape::Tape;
use remote::Remote;

/// As in the host: newcomers do not wait for many turns of what computes.
const TURNS_BEFORE_NEW_TASKS: u32 = 2;
const TURNS_BEFORE_NEW_INPUT: u32 = 4;

/// The whole life of a worker. Called before the process has a second thread; the socket is its standard input.
pub fn main(settings: &WorkerSettings) -> ExitCode {
    match run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a sandbox worker did not start: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "tasks of a worker process, which ends with its connection")]
fn run(settings: &WorkerSettings) -> Result<(), WorkerError> {
    let layers = lockdown::begin(settings)?;
    #[expect(unsafe_code, reason = "standard input was given to this process to be its socket")]
    // SAFETY: nothing else here uses standard input.
    let socket = unsafe { OwnedFd::from_raw_fd(libc::STDIN_FILENO) };
    // What panics leaves runs behind that never end. The host starts another worker.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::abort();
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(settings.threads)
        .global_queue_interval(TURNS_BEFORE_NEW_TASKS)
        .event_interval(TURNS_BEFORE_NEW_INPUT)
        .enable_all()
        .build()?;
    // On one of the runtime's threads, so that a run that begins is polled by the thread that read of it.
    runtime.block_on(async { tokio::spawn(serve(socket, layers)).await })?
}

#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the host sent {0}")]
    Malformed(#[from] Malformed),
    #[error(transparent)]
    Sandbox(#[from] Error),
    #[error(transparent)]
    Join(#[from] tokio::task::JoinError),
    #[error("the host closed the socket")]
    Gone,
}

/// A worker at work.
struct Worker {
    inner: Arc<Inner>,
    outbox: Outbox,
    images: HashMap<u64, Arc<WorkerImage>>,
    runs: Arc<Mutex<Runs>>,
}

type Runs = HashMap<u64, (Remote, AbortHandle)>;

struct WorkerImage {
    snapshot: Arc<Snapshot>,
    sources: Sources,
}

#[expect(clippy::disallowed_methods, reason = "tasks of a worker process, which ends with its connection")]
async fn serve(socket: OwnedFd, mut layers: Vec<Layer>) -> Result<(), WorkerError> {
    let socket = Arc::new(wire::register(socket)?);
    let outbox = Outbox::new(socket.clone());
    tokio::spawn(outbox.clone().drain());
    let mut inbox = Inbox::default();
    let hello = next_frame(&socket, &mut inbox).await?;
    let mut worker = Worker::new(&hello, &mut inbox, outbox)?;
    lockdown::finish(&mut layers)?;
    worker.tell_ready(&layers);
    loop {
        match next_frame(&socket, &mut inbox).await {
            Ok(frame) => worker.take(&frame, &mut inbox)?,
            // The host has ended, or ends this.
            Err(WorkerError::Gone) => std::process::exit(0),
            Err(error) => return Err(error),
        }
    }
}

async fn next_frame(socket: &AsyncFd<OwnedFd>, inbox: &mut Inbox) -> Result<Frame, WorkerError> {
    loop {
        if let Some(frame) = inbox.next_frame()? {
            return Ok(frame);
        }
        let mut ready = socket.readable().await?;
        match inbox.receive(socket.as_raw_fd(), true) {
            Ok(Received::More) => {}
            Ok(Received::Drained) => ready.clear_ready(),
            Ok(Received::Closed) => return Err(WorkerError::Gone),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(WorkerError::Gone),
            Err(error) => return Err(error.into()),
        }
    }
}

// === impl Worker ===

impl Worker {
    fn new(hello: &Frame, inbox: &mut Inbox, outbox: Outbox) -> Result<Self, WorkerError> {
        if hello.kind != to_worker::HELLO {
            return Err(Malformed("something before its greeting").into());
        }
        let hello = Hello::read(&mut hello.reader())?;
        let engine = Engine::new(hello.warm_slots)?;
        let base = Snapshot::map(inbox.take_file()?, hello.base_bytes)?;
        Ok(Self { inner: Inner::in_worker(engine, base), outbox, images: HashMap::new(), runs: Arc::default() })
    }

    fn tell_ready(&self, layers: &[Layer]) {
        let probes = lockdown::probe();
        self.outbox.add(to_host::READY, NO_RUN, |to| {
            to.list(layers.iter(), |to, layer| {
                to.text(&layer.name);
                to.option(layer.missing.as_deref(), super::codec::Encoder::text);
            });
            to.list(probes.iter(), |to, probe| {
                to.text(&probe.what);
                to.option(probe.refused.as_deref(), super::codec::Encoder::text);
            });
        });
        self.outbox.flush();
    }

    #[expect(clippy::disallowed_methods, reason = "tasks of a worker process, which ends with its connection")]
    fn take(&mut self, frame: &Frame, inbox: &mut Inbox) -> Result<(), WorkerError> {
        match frame.kind {
            to_worker::INSTALL => {
                let Install { image, memory_bytes } = Install::read(&mut frame.reader())?;
                let snapshot = Snapshot::map(inbox.take_file()?, memory_bytes)?;
                let sources = Sources::Packed(Arc::new(Packed::new(inbox.take_file()?, unpack)));
                self.images.insert(image, Arc::new(WorkerImage { snapshot, sources }));
            }
            to_worker::FORGET => drop(self.images.remove(&frame.reader().u64()?)),
            to_worker::START => self.start(frame.run, Start::read(&mut frame.reader())?)?,
            to_worker::CANCEL => {
                if let Some((_, abort)) = lock(&self.runs).remove(&frame.run) {
                    abort.abort();
                }
            }
            to_worker::BUILD => {
                let (program, output) = (inbox.take_file()?, inbox.take_file()?);
                let limits = super::protocol::read_limits(&mut frame.reader())?;
                let (inner, outbox) = (self.inner.clone(), self.outbox.clone());
                tokio::spawn(build::build(inner, program, output, limits, outbox));
            }
            _ => {
                let run = lock(&self.runs).get(&frame.run).map(|(remote, _)| remote.clone());
                if let Some(remote) = run {
                    remote.take(frame)?;
                }
            }
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "tasks of a worker process, which ends with its connection")]
    fn start(&self, run: u64, start: Start) -> Result<(), Malformed> {
        let image = self.images.get(&start.image).ok_or(Malformed("a run of an image it never gave"))?.clone();
        let remote = Remote::new(self.outbox.clone(), run, start.now_ms);
        let (inner, outbox, runs) = (self.inner.clone(), self.outbox.clone(), self.runs.clone());
        // The lock is held until the run is in the table, so that it cannot be over before.
        let mut table = lock(&self.runs);
        let of_run = remote.clone();
        let task = tokio::spawn(async move {
            let ran = flushing(&outbox, invoke(&inner, &image, &start, of_run)).await;
            tell(&outbox, run, &ran);
            lock(&runs).remove(&run);
            // Only now, because the host need not wait until the memory is restored.
            if let Ok((_, started)) = ran {
                started.rest();
            }
        });
        table.insert(run, (remote, task.abort_handle()));
        Ok(())
    }
}

fn unpack(file: &File) -> Option<crate::program::Program> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut &*file, &mut bytes).ok()?;
    read_program(bytes).ok()
}

fn lock(runs: &Mutex<Runs>) -> MutexGuard<'_, Runs> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn invoke(
    inner: &Inner,
    image: &WorkerImage,
    start: &Start,
    remote: Remote,
) -> Result<(Outcome, Started), Error> {
    let mut run = Run::new(Arc::new(remote), start.limits, Some(image.sources.clone()));
    if let Some(replay) = &start.replay {
        run.tape = Tape::replaying(replay);
    }
    let mut started = Started::new(&inner.engine, &image.snapshot, run)?;
    let result = started.call(INVOKE, Some(&start.call)).await?;
    Ok((started.take_outcome(result), started))
}

/// Sends after every turn of a run what the run said in it.
async fn flushing<F: Future>(outbox: &Outbox, future: F) -> F::Output {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        if polled.is_pending() {
            outbox.flush();
        }
        polled
    })
    .await
}

fn tell(outbox: &Outbox, run: u64, ran: &Result<(Outcome, Started), Error>) {
    let reason = match ran {
        Ok((outcome, _)) if outbox.add(to_host::DONE, run, |to| Written(outcome).write(to)) => None,
        Ok(_) => Some("its outcome is larger than a frame".to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(reason) = reason {
        outbox.add(to_host::FAILED, run, |to| write_reason(to, &reason));
    }
    outbox.flush();
}
