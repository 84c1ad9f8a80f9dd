//! The host's end of the connection to one worker: which runs it has, which images it knows, and how it ended.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use lru::LruCache;
use tokio::io::unix::AsyncFd;

use super::codec::{MAX_FRAME_BYTES, Malformed};
use super::outbox::Outbox;
use super::processes::{Process, Supervisor};
use super::protocol::{Frame, Install, NO_RUN, Start, to_worker, write_program};
use super::wire::{self, Inbox, Received};
use crate::program::Program;
use crate::sandbox::Image;
use crate::tape::Replay;

/// Images a worker holds open: each is a descriptor and a mapping.
const MOST_IMAGES: usize = 256;
/// What may wait for one run's task to look at it: the largest frame, and some more.
const MOST_QUEUED_BYTES: usize = MAX_FRAME_BYTES + (16 << 20);

/// Why there is no worker any more.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Ended {
    #[error("it closed its socket")]
    Closed,
    #[error("it sent {0}")]
    Malformed(Malformed),
    #[error("a run was not over long after its deadline")]
    Overdue,
    #[error("it did not start: {0}")]
    NotStarted(Arc<io::Error>),
    #[error("it was no longer needed")]
    Stopped,
}

pub(crate) struct Connection {
    pub(super) outbox: Outbox,
    state: Mutex<State>,
    has_ended: AtomicBool,
    /// It has made a run, so whatever ends it later is not a failure to start.
    has_worked: AtomicBool,
    process_id: u32,
    bounds: ConnectionBounds,
}

#[derive(Clone, Copy)]
pub(super) struct ConnectionBounds {
    /// How long after its deadline a run may take.
    pub(super) margin: Duration,
    /// Of the images that the worker holds in memory. The least recently used goes first.
    pub(super) image_bytes: u64,
}

struct State {
    runs: HashMap<u64, Entry>,
    last_run: u64,
    /// What the worker has, by number, and the bytes of each.
    images: LruCache<u64, u64>,
    image_bytes: u64,
    worker: Option<(Process, Supervisor)>,
    why: Option<Ended>,
}

struct Entry {
    queue: Arc<Mutex<Queue>>,
    overdue: Instant,
}

/// What the worker said about one run and its task has not looked at.
#[derive(Default)]
struct Queue {
    frames: VecDeque<Frame>,
    bytes: usize,
    why: Option<Ended>,
    waker: Option<Waker>,
}

/// The host's end of one run. Dropped before the run is over, it cancels the run.
pub(super) struct Conversation {
    pub(super) connection: Arc<Connection>,
    pub(super) run: u64,
    queue: Arc<Mutex<Queue>>,
    pub(super) is_over: bool,
}

/// What begins a run.
pub(super) struct RunStart<'a> {
    pub(super) image: &'a Image,
    /// Read when the worker does not know the image yet.
    pub(super) program: Option<Arc<Program>>,
    pub(super) now_ms: f64,
    pub(super) limits: &'a crate::limits::Limits,
    pub(super) call: &'a str,
    pub(super) replay: Option<&'a Replay>,
}

// === impl Connection ===

impl Connection {
    /// Called inside of the runtime that reads from the worker.
    #[expect(
        clippy::disallowed_methods,
        reason = "both tasks end with the socket; idle workers are measured in real time"
    )]
    pub(super) fn open(
        socket: OwnedFd,
        worker: Option<(Process, Supervisor)>,
        bounds: ConnectionBounds,
    ) -> io::Result<Arc<Self>> {
        let socket = Arc::new(wire::register(socket)?);
        let outbox = Outbox::new(socket.clone());
        let process_id = worker.as_ref().map_or(0, |(process, _)| process.id());
        let supervisor = worker.as_ref().map(|(_, supervisor)| supervisor.clone());
        let (runs, images) = (HashMap::new(), LruCache::unbounded());
        let state = State { runs, last_run: NO_RUN, images, image_bytes: 0, worker, why: None };
        let connection = Arc::new(Self {
            outbox: outbox.clone(),
            state: Mutex::new(state),
            has_ended: AtomicBool::new(false),
            has_worked: AtomicBool::new(false),
            process_id,
            bounds,
        });
        // Both end with the connection, which ends with its worker or with the sandbox.
        tokio::spawn(outbox.drain());
        tokio::spawn(read(connection.clone(), socket));
        if let Some(supervisor) = supervisor {
            supervisor.watch(&connection);
        }
        Ok(connection)
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process_id
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    pub(super) fn has_worked(&self) -> bool {
        self.has_worked.load(Ordering::Relaxed)
    }

    /// What is said outside of any run, until `overdue`.
    pub(super) fn converse(self: &Arc<Self>, limit: Duration) -> Result<Conversation, Ended> {
        self.lock().converse(self, NO_RUN, limit)
    }

    /// Starts a run, and tells the worker of the image first if it does not know it.
    pub(super) fn begin(self: &Arc<Self>, beginning: &RunStart<'_>) -> Result<Conversation, BeginError> {
        let image = beginning.image.snapshot.id();
        let is_known = self.lock().images.get(&image).is_some();
        let files = match &beginning.program {
            _ if is_known => Vec::new(),
            None => return Err(BeginError::ProgramNeeded),
            Some(program) => image_files(beginning.image, program).map_err(BeginError::Files)?,
        };
        let mut state = self.lock();
        // It may have been evicted since.
        let is_known = state.images.get(&image).is_some();
        if !is_known && files.is_empty() {
            return Err(BeginError::ProgramNeeded);
        }
        let run = state.last_run + 1;
        let conversation = state.converse(self, run, beginning.limits.wall_clock)?;
        state.last_run = run;
        // What is sent under the lock arrives in the order of the decisions.
        if !is_known {
            let install = Install { image, memory_bytes: beginning.image.snapshot.length() };
            self.outbox.add_with_files(to_worker::INSTALL, NO_RUN, files, |to| install.write(to));
            for forgotten in state.take_in(image, beginning.image.snapshot.memory_bytes() as u64, &self.bounds) {
                self.outbox.add(to_worker::FORGET, NO_RUN, |to| to.u64(forgotten));
            }
        }
        let is_sent = self.outbox.add(to_worker::START, run, |to| Start::write(to, image, beginning));
        drop(state);
        self.outbox.flush();
        if is_sent { Ok(conversation) } else { Err(BeginError::TooLarge) }
    }

    /// Ends the worker, and every run it has with it.
    pub(super) fn end(&self, why: &Ended) {
        let mut state = self.lock();
        if state.why.is_some() {
            return;
        }
        state.why = Some(why.clone());
        self.has_ended.store(true, Ordering::Release);
        let (runs, worker) = (std::mem::take(&mut state.runs), state.worker.take());
        drop(state);
        self.outbox.close();
        if let Some((process, supervisor)) = worker {
            supervisor.end(process, why.clone());
        }
        for entry in runs.into_values() {
            lock(&entry.queue).end(why.clone());
        }
    }

    /// Ends the worker if one of its runs is overdue. `false` when there is nothing to look at any more.
    pub(super) fn look(&self, now: Instant) -> bool {
        if self.lock().runs.values().any(|entry| entry.overdue <= now) {
            self.end(&Ended::Overdue);
        }
        !self.has_ended()
    }

    fn dispatch(&self, frame: Frame) -> Result<(), Malformed> {
        let queue = {
            let state = self.lock();
            match state.runs.get(&frame.run) {
                Some(entry) => entry.queue.clone(),
                // It was cancelled while this was on its way.
                None if frame.run <= state.last_run => return Ok(()),
                None => return Err(Malformed("a frame of a run that was never started")),
            }
        };
        Queue::push(&queue, frame)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a run was not begun.
pub(super) enum BeginError {
    Ended(Ended),
    /// The worker does not know the image: nothing was begun, and the program is to be given.
    ProgramNeeded,
    /// The image could not be opened once more.
    Files(io::Error),
    TooLarge,
}

impl From<Ended> for BeginError {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// Memory and program of an image, for a worker to read.
fn image_files(image: &Image, program: &Program) -> io::Result<Vec<OwnedFd>> {
    let program = wire::memory_file_of("program", &write_program(program))?;
    Ok(vec![wire::read_only(image.snapshot.file())?.into(), program.into()])
}

async fn read(connection: Arc<Connection>, socket: Arc<AsyncFd<OwnedFd>>) {
    let why = match read_frames(&connection, &socket).await {
        Err(malformed) => Ended::Malformed(malformed),
        Ok(()) => Ended::Closed,
    };
    connection.end(&why);
}

/// Returns when the worker has closed its end.
async fn read_frames(connection: &Connection, socket: &AsyncFd<OwnedFd>) -> Result<(), Malformed> {
    let mut inbox = Inbox::default();
    loop {
        let Ok(mut ready) = socket.readable().await else { return Ok(()) };
        match inbox.receive(socket.as_raw_fd(), false) {
            Ok(Received::More) => {}
            Ok(Received::Drained) => ready.clear_ready(),
            Ok(Received::Closed) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(()),
        }
        while let Some(frame) = inbox.next_frame()? {
            connection.dispatch(frame)?;
        }
    }
}

// === impl State ===

impl State {
    /// Notes that the worker gets an image, and which others it is to forget so that there is room. A worker with runs of a
    /// forgotten image has it until they end.
    fn take_in(&mut self, image: u64, bytes: u64, bounds: &ConnectionBounds) -> Vec<u64> {
        self.images.push(image, bytes);
        self.image_bytes += bytes;
        let mut forgotten = Vec::new();
        while self.images.len() > MOST_IMAGES || (self.image_bytes > bounds.image_bytes && self.images.len() > 1) {
            let Some((oldest, bytes)) = self.images.pop_lru() else { break };
            self.image_bytes -= bytes;
            forgotten.push(oldest);
        }
        forgotten
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "both tasks end with the socket; idle workers are measured in real time"
    )]
    fn converse(&mut self, connection: &Arc<Connection>, run: u64, limit: Duration) -> Result<Conversation, Ended> {
        if let Some(why) = &self.why {
            return Err(why.clone());
        }
        let queue = Arc::new(Mutex::new(Queue::default()));
        // A limit beyond the clock's is no limit.
        let now = Instant::now();
        let overdue = now
            .checked_add(limit.saturating_add(connection.bounds.margin))
            .unwrap_or(now + Duration::from_secs(1 << 30));
        self.runs.insert(run, Entry { queue: queue.clone(), overdue });
        Ok(Conversation { connection: connection.clone(), run, queue, is_over: false })
    }
}

// === impl Queue ===

impl Queue {
    fn push(queue: &Mutex<Self>, frame: Frame) -> Result<(), Malformed> {
        let mut queue = lock(queue);
        queue.bytes += frame.body.len() + size_of::<Frame>();
        if queue.bytes > MOST_QUEUED_BYTES {
            return Err(Malformed("more than a run can have to say"));
        }
        queue.frames.push_back(frame);
        let waker = queue.waker.take();
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    fn end(&mut self, why: Ended) {
        self.why = Some(why);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Conversation ===

impl Conversation {
    /// What the worker says next. Cancel-safe: a frame is taken when it is returned.
    pub(super) async fn next(&self) -> Result<Frame, Ended> {
        poll_fn(|context| {
            let mut queue = lock(&self.queue);
            if let Some(frame) = queue.frames.pop_front() {
                queue.bytes -= frame.body.len() + size_of::<Frame>();
                return Poll::Ready(Ok(frame));
            }
            if let Some(why) = &queue.why {
                return Poll::Ready(Err(why.clone()));
            }
            if !queue.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                queue.waker = Some(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    /// The worker has said the last about this run.
    pub(super) fn finish(&mut self) {
        self.is_over = true;
        self.connection.has_worked.store(true, Ordering::Relaxed);
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.connection.lock().runs.remove(&self.run);
        if !self.is_over && self.run != NO_RUN {
            self.connection.outbox.add(to_worker::CANCEL, self.run, |_| ());
            self.connection.outbox.flush();
        }
    }
}

#[cfg(test)]
mod tests;
