//! The queue in front of the writer thread: bounded, and drained in groups that share one fsync (group commit).
//!
//! The group is flushed when the runtime is idle: a task re-queues itself at the end of the scheduler's queue until one
//! round passes in which no request arrived. A lone request is flushed after one round; under load one fsync is shared by
//! all requests that became ready in the meantime. A fixed delay would be too long for a lone request and too short under
//! load, and a writer thread that yields its processor while it polls may not get it back for milliseconds.
//!
//! A round takes as long as what the scheduler has to do, which may be much. A tenant that is alone waits for itself, and
//! gets larger groups. Where tenants share the store, a request that finds the group held open for too long flushes it, and so
//! does the writer when it began to wait. What a group has of what waits is in `groups.rs`.

mod groups;

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use self::groups::Groups;
use crate::Error;

pub(super) struct Bounds {
    /// Requests in the queue; beyond it, callers wait before they enqueue (back-pressure).
    pub(super) capacity: usize,
    /// With this many requests the group is flushed at once.
    pub(super) flush_at: usize,
    /// Most requests in a group.
    pub(super) max_group: usize,
    /// The longest time a group is held open while requests keep arriving.
    pub(super) max_wait: Duration,
    /// The same where several tenants write: what is cheaper for one is a delay for another.
    pub(super) max_shared_wait: Duration,
    /// The most weight of one tenant in a group. A heavier single request is the only one of its tenant in its group.
    pub(super) max_tenant_weight: usize,
    /// The same for a tenant without which nothing was written in the last groups.
    pub(super) max_lone_weight: usize,
    /// A tenant with at most this weight in the queue comes before those with more.
    pub(super) light_weight: usize,
}

/// What a request costs the writer, and which tenant it is charged to.
pub(super) trait Weighed {
    /// Requests of one tenant are taken in order of arrival; requests without a tenant go with the next group.
    fn tenant(&self) -> Option<&str>;

    fn weight(&self) -> usize;
}

/// The sending end. Dropping it closes the queue; requests that are queued are still taken.
pub(super) struct Inbox<Request: Send + 'static>(Arc<Shared<Request>>);

/// The writer's end. Dropping it fails the queued requests and refuses new ones.
pub(super) struct Receiver<Request: Send + 'static> {
    shared: Arc<Shared<Request>>,
    groups: Groups,
}

struct Shared<Request> {
    bounds: Bounds,
    permits: Semaphore,
    queue: Mutex<Queue<Request>>,
    flush: Condvar,
}

struct Queue<Request> {
    waiting: VecDeque<Request>,
    writer: WriterState,
    is_closed: bool,
    /// Counts how often gathering began: what an earlier gathering task says does not count.
    gathering: u64,
    gathering_since: Instant,
    /// The only tenant of the last groups, until a request of another arrives.
    alone: Option<String>,
    /// The runtime of the callers, on which the gathering task runs.
    runtime: Option<Handle>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriterState {
    /// The writer is applying the group that it took.
    Busy,
    /// The writer sleeps and the queue is empty. The next request starts the gathering task.
    Idle,
    /// The writer sleeps; the gathering task will wake it.
    Gathering,
    /// The group is complete: the writer may take it.
    Flush,
}

pub(super) fn new<Request: Send + 'static>(bounds: Bounds) -> (Inbox<Request>, Receiver<Request>) {
    let waiting = VecDeque::with_capacity(bounds.capacity);
    let queue = Mutex::new(Queue {
        waiting,
        writer: WriterState::Busy,
        is_closed: false,
        gathering: 0,
        gathering_since: now(),
        alone: None,
        runtime: None,
    });
    let permits = Semaphore::new(bounds.capacity);
    let shared = Arc::new(Shared { bounds, permits, queue, flush: Condvar::new() });
    (Inbox(Arc::clone(&shared)), Receiver { shared, groups: Groups::default() })
}

// === impl Inbox ===

impl<Request: Weighed + Send + 'static> Inbox<Request> {
    /// Waits while the queue is full. A group that is held open for one tenant ends when another comes, which should not wait for it.
    pub(super) async fn put(&self, request: Request) -> Result<(), Error> {
        self.0.permits.acquire().await.map_err(|_| Error::Closed)?.forget();
        let mut queue = self.0.queue();
        if queue.is_closed {
            return Err(Error::Closed);
        }
        let is_new_here =
            queue.is_alone() && request.tenant().is_some_and(|tenant| queue.alone.as_deref() != Some(tenant));
        if is_new_here {
            queue.alone = None;
        }
        queue.waiting.push_back(request);
        queue.runtime.get_or_insert_with(Handle::current);
        match queue.writer {
            WriterState::Idle => Shared::gather(&self.0, queue),
            WriterState::Gathering if is_new_here || (!queue.is_alone() && queue.is_due(&self.0.bounds)) => {
                queue.writer = WriterState::Flush;
                drop(queue);
                self.0.flush.notify_one();
            }
            _ => {}
        }
        Ok(())
    }
}

impl<Request: Send + 'static> Drop for Inbox<Request> {
    fn drop(&mut self) {
        self.0.close();
    }
}

// === impl Receiver ===

impl<Request: Weighed + Send + 'static> Receiver<Request> {
    /// Moves the next group into `group`, and blocks until there is one. An empty group means that the queue is closed.
    pub(super) fn take(&mut self, group: &mut VecDeque<Request>) {
        let Self { shared, groups } = self;
        let mut queue = shared.queue();
        if queue.waiting.is_empty() {
            queue.writer = WriterState::Idle;
        } else if queue.waiting.len() >= shared.bounds.flush_at {
            queue.writer = WriterState::Flush;
        } else {
            Shared::gather(shared, queue);
            queue = shared.queue();
        }
        while queue.writer != WriterState::Flush && !queue.is_closed {
            queue = match queue.writer {
                WriterState::Gathering if !queue.is_alone() && queue.is_due(&shared.bounds) => break,
                WriterState::Gathering if !queue.is_alone() => {
                    let waited = shared.flush.wait_timeout(queue, shared.bounds.max_shared_wait);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                _ => shared.flush.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        queue.writer = WriterState::Busy;
        let before = group.len();
        groups.take(&mut queue.waiting, &shared.bounds, group);
        if queue.alone.as_deref() != groups.alone() {
            queue.alone = groups.alone().map(str::to_owned);
        }
        drop(queue);
        shared.permits.add_permits(group.len() - before);
    }
}

impl<Request: Send + 'static> Drop for Receiver<Request> {
    fn drop(&mut self) {
        self.shared.close();
        self.shared.queue().waiting.clear();
    }
}

// === impl Shared ===

impl<Request: Send + 'static> Shared<Request> {
    fn queue(&self) -> MutexGuard<'_, Queue<Request>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the task that wakes the writer. Releases the lock first: a runtime that has shut down drops the task at once,
    /// and the drop of [`Waker`] takes the lock.
    fn gather(shared: &Arc<Self>, mut queue: MutexGuard<'_, Queue<Request>>) {
        queue.writer = WriterState::Gathering;
        queue.gathering += 1;
        queue.gathering_since = now();
        let (runtime, gathering) = (queue.runtime.clone(), queue.gathering);
        drop(queue);
        let waker = Waker { shared: Arc::clone(shared), gathering };
        if let Some(runtime) = runtime {
            runtime.spawn(gather(waker));
        }
    }

    fn close(&self) {
        self.queue().is_closed = true;
        self.permits.close();
        self.flush.notify_one();
    }
}

// === impl Queue ===

impl<Request> Queue<Request> {
    fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// Whether a group that is held open is complete: it is large enough, or was open for long enough.
    fn is_due(&self, bounds: &Bounds) -> bool {
        let max_wait = if self.is_alone() { bounds.max_wait } else { bounds.max_shared_wait };
        self.waiting.len() >= bounds.flush_at || now().saturating_duration_since(self.gathering_since) >= max_wait
    }
}

#[expect(clippy::disallowed_methods, reason = "bounds how long a group is held open")]
fn now() -> Instant {
    Instant::now()
}

/// Wakes the writer when it is dropped, also when the runtime shuts down before the group is complete.
struct Waker<Request: Send + 'static> {
    shared: Arc<Shared<Request>>,
    gathering: u64,
}

impl<Request: Send + 'static> Waker<Request> {
    /// Whether the group that this was made for still waits for it.
    fn is_awaited(&self, queue: &Queue<Request>) -> bool {
        queue.writer == WriterState::Gathering && queue.gathering == self.gathering
    }
}

impl<Request: Send + 'static> Drop for Waker<Request> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue();
        if self.is_awaited(&queue) {
            queue.writer = WriterState::Flush;
            drop(queue);
            self.shared.flush.notify_one();
        }
    }
}

/// Holds the group open until a round of the scheduler brings no new request, or a bound is reached.
async fn gather<Request: Send + 'static>(waker: Waker<Request>) {
    let mut seen = 0;
    loop {
        {
            let queue = waker.shared.queue();
            let waiting = queue.waiting.len();
            if waiting == seen || !waker.is_awaited(&queue) || queue.is_due(&waker.shared.bounds) {
                return;
            }
            seen = waiting;
        }
        tokio::task::yield_now().await;
    }
}

#[cfg(test)]
mod tests;
