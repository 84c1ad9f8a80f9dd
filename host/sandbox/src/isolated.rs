//! Runs in worker processes: a second boundary, in case WebAssembly has a vulnerability.
//!
//! Tenants are divided into groups, and each group has a worker: this program again, without files, network and privileges
//! (`lockdown`), connected by a socket (`wire`, `protocol`). The host functions, the meter and the guest's memory are there. Here are the
//! gate, the store, credentials and the network: a run asks for them (`worker/remote`), and every question is checked against the
//! run's limits once more (`serve`, `tally`), because a tenant that broke out of WebAssembly can send whatever it likes.
//!
//! A component is built in a process that builds nothing else and is then ended.

mod codec;
mod connection;
mod group;
mod lockdown;
mod outbox;
mod processes;
mod protocol;
mod serve;
mod tally;
mod wire;
mod worker;

use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::engine::PAGE_BYTES;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::limits::Limits;
use crate::outcome::{LogLine, Outcome, Usage};
use crate::program::Program;
use crate::sandbox::{Error, Image, LoadError, Task};
use crate::services::Services;
use crate::snapshot::Snapshot;
use codec::Malformed;
use connection::{BeginError, Connection, ConnectionBounds, Conversation, RunStart};
use group::Group;
use processes::Supervisor;
use protocol::{BuildResult, Frame, Hello, NO_RUN, to_host, to_worker, write_limits, write_program};
use tally::usage_within;

pub use connection::Ended;
pub use lockdown::{Layer, Probe, WorkerSettings};
pub use worker::main;

/// A worker has the engine mapped within milliseconds; a machine that is busy takes longer.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Builds at once: each is a process.
const MOST_BUILDS: usize = 8;

/// How workers are started.
#[derive(Debug, Clone)]
pub struct Processes {
    /// The program that calls [`main`] when it is started with `arguments`.
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub groups: NonZeroUsize,
    /// Of each worker.
    pub threads: usize,
    /// What a worker may have mapped to be written, for all of its runs together.
    pub memory_bytes: u64,
    /// How much later than its deadline a run may be reported, on a machine that is busy. Then its worker is killed.
    pub margin: Duration,
}

/// What a worker says of itself when it is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub layers: Vec<Layer>,
    pub probes: Vec<Probe>,
}

pub(crate) struct Workers {
    shared: Arc<Shared>,
    groups: Vec<Arc<Group>>,
    /// Random, so that no tenant can choose the tenants it shares a worker with.
    hasher: RandomState,
    builds: Semaphore,
    spare: Arc<Mutex<Option<Arc<Connection>>>>,
    report: Report,
}

/// What a worker is started from.
pub(crate) struct Shared {
    runtime: Handle,
    supervisor: Supervisor,
    base: Arc<Snapshot>,
    warm_slots: usize,
    margin: Duration,
    /// Of the images that one worker holds.
    image_bytes: u64,
    /// The sandbox is gone: what starts now is ended at once.
    is_closed: AtomicBool,
}

pub(crate) struct WorkerBounds {
    pub(crate) warm_slots: usize,
    /// Of the images that all workers together hold in memory.
    pub(crate) held_image_bytes: u64,
}

// === impl Workers ===

impl Workers {
    /// Starts a first worker, to see that it can be done and what it is locked by.
    pub(crate) async fn open(config: Processes, base: Arc<Snapshot>, bounds: WorkerBounds) -> Result<Self, Error> {
        let WorkerBounds { warm_slots, held_image_bytes } = bounds;
        let groups = (0..config.groups.get()).map(|number| Arc::new(Group::new(format!("group {number}"))));
        let groups: Vec<Arc<Group>> = groups.collect();
        let (margin, image_bytes) = (config.margin, held_image_bytes / config.groups.get() as u64);
        let supervisor = Supervisor::new(config).map_err(not_started)?;
        let shared = Arc::new(Shared {
            runtime: Handle::current(),
            supervisor,
            base,
            warm_slots,
            margin,
            image_bytes,
            is_closed: AtomicBool::new(false),
        });
        let (first, report) = shared.start_reporting("builder".to_owned(), true).await?;
        for Layer { name, missing } in &report.layers {
            if let Some(missing) = missing {
                tracing::warn!(layer = name, missing, "sandbox workers lack a layer of isolation");
            }
        }
        // So that the first run of a group does not wait for a process. What fails here is tried again by that run.
        for group in &groups {
            let (group, of_task) = (group.clone(), shared.clone());
            shared.runtime.spawn(async move { group.start(&of_task).await.map(drop) });
        }
        Ok(Self {
            shared,
            groups,
            hasher: RandomState::new(),
            builds: Semaphore::new(MOST_BUILDS),
            spare: Arc::new(Mutex::new(Some(first))),
            report,
        })
    }

    pub(crate) async fn run(
        &self,
        image: &Image,
        task: &Task<'_>,
        services: Arc<dyn Services>,
    ) -> Result<Outcome, Error> {
        let group = self.group(task.tenant);
        let now_ms = services.now_ms();
        let limits = &task.limits;
        let mut start = RunStart { image, program: None, now_ms, limits, call: task.call, replay: task.replay };
        let connection = match group.current() {
            Some(connection) => connection,
            None => group.connect(&self.shared).await?,
        };
        let conversation = match begin(&connection, &mut start).await? {
            // It ended since; nothing was begun.
            Err(BeginError::Ended(_)) => begin(&group.connect(&self.shared).await?, &mut start).await?,
            begun => begun,
        };
        let conversation = conversation.map_err(|error| match error {
            BeginError::Ended(why) => Error::Worker(why),
            BeginError::ProgramNeeded => Error::Shim("its program was not given"),
            BeginError::Files(error) => Error::Memory(error),
            BeginError::TooLarge => Error::InWorker { reason: "the call is too large".into() },
        })?;
        serve::serve(conversation, task.limits, services).await
    }

    /// Evaluates a component in a worker of its own: its memory, its description, and what it logged.
    #[expect(clippy::disallowed_methods, reason = "measures the run")]
    pub(crate) async fn build(
        &self,
        program: &Arc<Program>,
        limits: Limits,
        usage: &mut Usage,
    ) -> Result<(Vec<u8>, String, Vec<LogLine>), LoadError> {
        let _place = self.builds.acquire().await.map_err(|_| Error::Shim("the semaphore of builds is never closed"))?;
        let builder = Builder(self.take_spare().await?);
        self.replace_spare();
        let output = wire::memory_file("image").map_err(Error::Memory)?;
        let program = wire::memory_file_of("program", &write_program(program)).map_err(Error::Memory)?;
        let files = vec![program.into(), output.try_clone().map_err(Error::Memory)?.into()];
        // Loading and describing each have the limit.
        let begun = Instant::now();
        let conversation = builder.0.converse(limits.wall_clock.saturating_mul(2)).map_err(Error::Worker)?;
        builder.0.outbox.add_with_files(to_worker::BUILD, NO_RUN, files, |to| write_limits(to, &limits));
        builder.0.outbox.flush();
        let frame = conversation.next().await.map_err(Error::Worker)?;
        let (result, said) = frame.build_result(&limits).map_err(|malformed| builder.refuse(malformed))?;
        *usage = usage_within(said, &limits, begun.elapsed());
        match result {
            BuildResult::Loaded { description, logs, memory_bytes } => {
                let memory =
                    read_memory(output, memory_bytes, &limits).map_err(|malformed| builder.refuse(malformed))?;
                Ok((memory, description, logs))
            }
            BuildResult::Threw(thrown) => Err(LoadError::Threw(thrown)),
            BuildResult::Fault(fault) => Err(LoadError::Fault(fault)),
            BuildResult::Failed { reason } => Err(Error::InWorker { reason }.into()),
        }
    }

    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// How many workers ended that should not have.
    pub(crate) fn failures(&self) -> u64 {
        self.shared.supervisor.failures()
    }

    /// The process of a tenant's group, if it has one.
    pub(crate) fn process_id(&self, tenant: &str) -> Option<u32> {
        self.group(tenant).current().map(|connection| connection.process_id())
    }

    fn group(&self, tenant: &str) -> &Arc<Group> {
        let index = self.hasher.hash_one(tenant) as usize % self.groups.len();
        // There is at least one, and the remainder is less than their number.
        #[expect(clippy::indexing_slicing, reason = "as above")]
        &self.groups[index]
    }

    async fn take_spare(&self) -> Result<Arc<Connection>, Error> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        match spare.filter(|spare| !spare.has_ended()) {
            Some(spare) => Ok(spare),
            None => {
                let shared = self.shared.clone();
                let starting = self.shared.runtime.spawn(async move { shared.start("builder".to_owned(), true).await });
                starting.await.map_err(|_| Error::Shim("a worker was not started"))?
            }
        }
    }

    /// Makes the next builder ready while this one works.
    fn replace_spare(&self) {
        let (shared, spare) = (self.shared.clone(), self.spare.clone());
        self.shared.runtime.spawn(async move {
            let is_there = spare.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            if is_there {
                return;
            }
            // What failed shows in the next build, which tries again.
            let Ok(started) = shared.start("builder".to_owned(), true).await else { return };
            let before = spare.lock().unwrap_or_else(PoisonError::into_inner).replace(started.clone());
            if let Some(before) = before {
                before.end(&Ended::Stopped);
            }
            shared.end_if_closed(&started);
        });
    }
}

/// Begins a run. The program is read only for a worker that does not know its image.
async fn begin(
    connection: &Arc<Connection>,
    start: &mut RunStart<'_>,
) -> Result<Result<Conversation, BeginError>, Error> {
    let begun = connection.begin(start);
    if !matches!(begun, Err(BeginError::ProgramNeeded)) {
        return Ok(begun);
    }
    start.program = start.image.sources.read().await.map_err(Error::Service)?;
    Ok(connection.begin(start))
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let connections = self.groups.iter().filter_map(|group| group.current()).chain(spare);
        connections.for_each(|connection| connection.end(&Ended::Stopped));
    }
}

/// A worker for one build, ended when that is over.
struct Builder(Arc<Connection>);

// === impl Builder ===

impl Builder {
    fn refuse(&self, malformed: Malformed) -> Error {
        let why = Ended::Malformed(malformed);
        self.0.end(&why);
        Error::Worker(why)
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        self.0.end(&Ended::Stopped);
    }
}

/// A copy, because the file can still be written by the worker: it is not mapped, and what is kept does not change.
fn read_memory(mut file: File, bytes: usize, limits: &Limits) -> Result<Vec<u8>, Malformed> {
    if bytes == 0 || bytes > limits.memory_bytes || !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(Malformed("an image of an impossible size"));
    }
    let mut memory = Vec::with_capacity(bytes);
    let read = file.rewind().and_then(|()| file.take(bytes as u64).read_to_end(&mut memory));
    if read.ok() == Some(bytes) { Ok(memory) } else { Err(Malformed("an image that is not there")) }
}

// === impl Shared ===

impl Shared {
    /// For a worker that was started while the sandbox was dropped, and was not there to be ended.
    fn end_if_closed(&self, connection: &Connection) {
        if self.is_closed.load(Ordering::SeqCst) {
            connection.end(&Ended::Stopped);
        }
    }

    async fn start(self: &Arc<Self>, name: String, is_builder: bool) -> Result<Arc<Connection>, Error> {
        Ok(self.start_reporting(name, is_builder).await?.0)
    }

    async fn start_reporting(
        self: &Arc<Self>,
        name: String,
        is_builder: bool,
    ) -> Result<(Arc<Connection>, Report), Error> {
        let files = vec![wire::read_only(self.base.file()).map_err(not_started)?.into()];
        let (process, socket) = self.supervisor.start(name, is_builder).await.map_err(not_started)?;
        let worker = Some((process, self.supervisor.clone()));
        let bounds = ConnectionBounds { margin: self.margin, image_bytes: self.image_bytes };
        let connection = Connection::open(socket, worker, bounds).map_err(not_started)?;
        let conversation = connection.converse(START_LIMIT).map_err(Error::Worker)?;
        let hello = Hello { warm_slots: self.warm_slots, base_bytes: self.base.length() };
        connection.outbox.add_with_files(to_worker::HELLO, NO_RUN, files, |to| hello.write(to));
        connection.outbox.flush();
        let frame = conversation.next().await.map_err(Error::Worker)?;
        let ready = read_report(&frame).and_then(is_locked);
        match ready {
            Ok(report) => Ok((connection, report)),
            Err(malformed) => {
                let why = Ended::Malformed(malformed);
                connection.end(&why);
                Err(Error::Worker(why))
            }
        }
    }
}

fn read_report(frame: &Frame) -> Result<Report, Malformed> {
    const MOST: usize = 100;
    if frame.kind != to_host::READY {
        return Err(Malformed("something before it was ready"));
    }
    let mut from = frame.reader();
    let layers = from.list(MOST, |from| Ok(Layer { name: from.text()?, missing: from.option(|from| from.text())? }))?;
    let probes = from.list(MOST, |from| Ok(Probe { what: from.text()?, refused: from.option(|from| from.text())? }))?;
    from.end()?;
    Ok(Report { layers, probes })
}

/// A worker that can do what none should be able to is not used.
fn is_locked(report: Report) -> Result<Report, Malformed> {
    match report.probes.iter().find(|probe| probe.refused.is_none()) {
        Some(_) => Err(Malformed("that it could do what it must not")),
        None => Ok(report),
    }
}

fn not_started(error: io::Error) -> Error {
    Error::Worker(Ended::NotStarted(Arc::new(error)))
}
