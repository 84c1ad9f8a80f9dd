//! What waits for the writer: bounded, and taken in groups.
//!
//! A group leaves when everybody who is ready to run has run. A task at the end of the runtime's queue finds that out: it
//! goes to the end again as long as others came in the meantime. So a caller that is alone hardly waits, a machine with
//! time to spare spends it on small groups, and one without shares each write among many. Sleeping for a fixed time would
//! be too long for the one and too short for the other; and a thread that gives up the processor while it waits may not
//! get it back for milliseconds.
//!
//! Of one tenant a group takes so much work and no more: those who share a group wait for all of it, and a tenant whose
//! runs cause thousands of operations waits behind itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::Error;

pub(super) struct Bounds {
    /// How many may wait; others wait before they are let in.
    pub(super) room: usize,
    /// With so many, nobody else is waited for.
    pub(super) enough: usize,
    /// How many are taken at once.
    pub(super) most: usize,
    /// How long others are waited for, however many come.
    pub(super) patience: Duration,
    /// The weight that one tenant has in a group; a request that is heavier by itself is taken alone of its tenant.
    pub(super) of_a_tenant: usize,
}

/// What a request asks of the writer.
pub(super) trait Weighed {
    /// Whose it is. Requests of one tenant are taken in the order they came; those without one with the next group.
    fn tenant(&self) -> Option<&str>;

    fn weight(&self) -> usize;
}

/// Closed when it is dropped; what waits is taken still.
pub(super) struct Inbox<Request: Send + 'static>(Arc<Shared<Request>>);

/// The one who takes. When it is gone, those who wait are let go and nobody else gets in.
pub(super) struct Taker<Request: Send + 'static>(Arc<Shared<Request>>);

struct Shared<Request> {
    bounds: Bounds,
    room: Semaphore,
    line: Mutex<Line<Request>>,
    called: Condvar,
}

struct Line<Request> {
    waiting: VecDeque<Request>,
    taker: Where,
    is_closed: bool,
    /// Of those who wait.
    runtime: Option<Handle>,
}

/// Where the taker is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// It is busy with those it took.
    Away,
    /// It sleeps, and nobody is there. The first to come sees to it that it is called.
    Idle,
    /// It sleeps, and is called when the group is there.
    Waiting,
    Called,
}

pub(super) fn new<Request: Send + 'static>(bounds: Bounds) -> (Inbox<Request>, Taker<Request>) {
    let waiting = VecDeque::with_capacity(bounds.room);
    let line = Mutex::new(Line { waiting, taker: Where::Away, is_closed: false, runtime: None });
    let room = Semaphore::new(bounds.room);
    let shared = Arc::new(Shared { bounds, room, line, called: Condvar::new() });
    (Inbox(Arc::clone(&shared)), Taker(shared))
}

// === impl Inbox ===

impl<Request: Send + 'static> Inbox<Request> {
    /// Waits for room.
    pub(super) async fn put(&self, request: Request) -> Result<(), Error> {
        self.0.room.acquire().await.map_err(|_| Error::Closed)?.forget();
        let mut line = self.0.line();
        if line.is_closed {
            return Err(Error::Closed);
        }
        line.waiting.push_back(request);
        line.runtime.get_or_insert_with(Handle::current);
        if line.taker == Where::Idle {
            Shared::gather(&self.0, line);
        }
        Ok(())
    }
}

impl<Request: Send + 'static> Drop for Inbox<Request> {
    fn drop(&mut self) {
        self.0.close();
    }
}

// === impl Taker ===

impl<Request: Weighed + Send + 'static> Taker<Request> {
    /// Moves the next ones into the group, and waits for them as long as it takes. When nobody is in it, nobody will be.
    pub(super) fn take(&mut self, group: &mut VecDeque<Request>) {
        let mut line = self.0.line();
        if line.waiting.is_empty() {
            line.taker = Where::Idle;
        } else if line.waiting.len() >= self.0.bounds.enough {
            line.taker = Where::Called;
        } else {
            Shared::gather(&self.0, line);
            line = self.0.line();
        }
        while line.taker != Where::Called && !line.is_closed {
            line = self.0.called.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.taker = Where::Away;
        let before = group.len();
        take_shares(&mut line.waiting, &self.0.bounds, group);
        drop(line);
        self.0.room.add_permits(group.len() - before);
    }
}

/// Moves the next ones into the group, of each tenant its share. The others stay in their order.
fn take_shares<Request: Weighed>(waiting: &mut VecDeque<Request>, bounds: &Bounds, group: &mut VecDeque<Request>) {
    if waiting.len() <= bounds.most && waiting.iter().map(Weighed::weight).sum::<usize>() <= bounds.of_a_tenant {
        // Nearly always: no tenant has more than its share.
        group.extend(waiting.drain(..));
        return;
    }
    let mut weights: HashMap<String, usize> = HashMap::new();
    let mut has_share = |request: &Request| {
        let Some(tenant) = request.tenant() else { return true };
        let Some(weight) = weights.get_mut(tenant) else {
            weights.insert(tenant.to_owned(), request.weight());
            return true;
        };
        // Beyond it stays beyond it: what comes after one that waits waits too.
        *weight = weight.saturating_add(request.weight());
        *weight <= bounds.of_a_tenant
    };
    let (mut left, mut taken) = (VecDeque::with_capacity(bounds.room), 0);
    while let Some(request) = waiting.pop_front() {
        if taken < bounds.most && has_share(&request) {
            group.push_back(request);
            taken += 1;
        } else {
            left.push_back(request);
        }
    }
    *waiting = left;
}

impl<Request: Send + 'static> Drop for Taker<Request> {
    fn drop(&mut self) {
        self.0.close();
        self.0.line().waiting.clear();
    }
}

// === impl Shared ===

impl<Request: Send + 'static> Shared<Request> {
    fn line(&self) -> MutexGuard<'_, Line<Request>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that the taker is called. Without the line: a runtime that has ended drops what it is given at once.
    fn gather(shared: &Arc<Self>, mut line: MutexGuard<'_, Line<Request>>) {
        line.taker = Where::Waiting;
        let runtime = line.runtime.clone();
        drop(line);
        let call = Call(Arc::clone(shared));
        if let Some(runtime) = runtime {
            runtime.spawn(gather(call));
        }
    }

    fn close(&self) {
        self.line().is_closed = true;
        self.room.close();
        self.called.notify_one();
    }
}

/// Calls the taker when it is dropped, also when the runtime ends before the group is there.
struct Call<Request: Send + 'static>(Arc<Shared<Request>>);

impl<Request: Send + 'static> Drop for Call<Request> {
    fn drop(&mut self) {
        self.0.line().taker = Where::Called;
        self.0.called.notify_one();
    }
}

/// Ends when nobody came while all who were ready ran.
#[expect(clippy::disallowed_methods, reason = "the writer thread bounds how long it gathers a group")]
async fn gather<Request: Send + 'static>(call: Call<Request>) {
    let begun = Instant::now();
    let bounds = &call.0.bounds;
    let mut seen = 0;
    loop {
        let waiting = call.0.line().waiting.len();
        if waiting == seen || waiting >= bounds.enough || begun.elapsed() >= bounds.patience {
            return;
        }
        seen = waiting;
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
