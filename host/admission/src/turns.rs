//! Turns of the processor: few ready tasks at a time are in the runtime's queue, whichever tenant they belong to.
//!
//! The runtime polls tasks in the order in which they became ready, so a tenant with a hundred ready tasks would be a hundred
//! polls ahead of a tenant with one. Here a wake goes to a gate first, which serves tenants round robin; only a task that
//! has its turn is passed on to the runtime, and the turn ends with the poll. What waits for I/O has none.
//!
//! The end of a turn grants the next one, and the runtime polls first what was woken last: the tasks of a busy tenant would
//! be polled in a chain, while others are in the runtime's queue or on the wire. So one that had to wait for its turn gives
//! way once more, to all that is ready by then.
//!
//! What is polled within a turn of its own tenant has it too. To wait for one of its own as well would only hold up the outer
//! one, with all that it holds: a run would have its memory before its turn comes.

use std::cell::RefCell;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::oneshot;

use crate::gate::Entry;
use crate::{Bounds, Gate, Permit, Share};

/// A future must be polled soon after it was woken, because it holds its turn until then; four for each thread leave
/// some for others when one does not. With two for each thread a tenant alone had 0.7 times the requests: threads look for
/// input each time that all have ended.
const TURNS_PER_THREAD: u64 = 4;

/// Cheap to clone.
#[derive(Clone)]
pub struct Turns(Gate);

/// The turns of one future.
pub struct Turn {
    ready: Arc<Ready>,
    /// Calls `ready`.
    waker: Waker,
}

/// Whose turns they are, for what learns it while it is under way. Cheap to clone.
#[derive(Clone)]
pub struct TurnOwner(Arc<Ready>);

/// A future that takes turns with those of other tenants.
pub struct InTurns<F> {
    turn: Turn,
    future: F,
}

/// What stands between the wakes of a future and its task.
struct Ready {
    gate: Gate,
    asked: Mutex<Asked>,
}

struct Asked {
    tenant: Arc<str>,
    /// None before the first poll.
    task: Option<Waker>,
    answer: Answer,
}

#[derive(Default)]
enum Answer {
    /// It is not ready, or has its turn now.
    #[default]
    NotAsked,
    Waiting(oneshot::Receiver<Permit>),
    /// After it has waited.
    GivesWay(Permit),
    Granted(Permit),
    /// The future is gone. Wakers of it may be left, and must take no turn that nothing would end.
    Ended,
}

thread_local! {
    /// Whose turn it is on this thread.
    static POLLED: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// A poll in a turn, while it lasts.
struct Polled {
    /// Whose turn it was around it.
    outer: Option<Arc<str>>,
}

// === impl Turns ===

impl Turns {
    /// A quarter of the turns is always left for other tenants.
    pub fn for_threads() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
        let total = TURNS_PER_THREAD * threads;
        Self::new(Share::new(total, total - total / 4))
    }

    pub fn new(turns: Share) -> Self {
        Self(Gate::new("turns", Bounds { places: turns, waiting: Share::new(u64::MAX, u64::MAX) }))
    }

    pub fn of(&self, tenant: &str) -> Turn {
        let asked = Asked { tenant: tenant.into(), task: None, answer: Answer::NotAsked };
        let ready = Arc::new(Ready { gate: self.0.clone(), asked: Mutex::new(asked) });
        Turn { waker: Waker::from(ready.clone()), ready }
    }

    /// Asks for the first turn at once, so that many futures that are made together begin one after the other.
    pub fn share<F: Future + Unpin>(&self, tenant: &str, future: F) -> InTurns<F> {
        let turn = self.of(tenant);
        turn.waker.wake_by_ref();
        turn.polling(future)
    }
}

// === impl Turn ===

impl Turn {
    pub fn owner(&self) -> TurnOwner {
        TurnOwner(self.ready.clone())
    }

    pub fn polling<F: Future + Unpin>(self, future: F) -> InTurns<F> {
        InTurns { turn: self, future }
    }

    /// Polls when the tenant has a turn, which ends with the poll. `poll` gets a context whose wakes ask for the next.
    fn poll<T>(&self, context: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        if self.ready.is_polled_within() {
            return poll(context);
        }
        let Some((tenant, _permit)) = self.ready.take(context.waker()) else { return Poll::Pending };
        let _polled = Polled::for_tenant(tenant);
        poll(&mut Context::from_waker(&self.waker))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let answer = std::mem::replace(&mut self.ready.lock().answer, Answer::Ended);
        // Not under the lock: the end of a turn wakes another.
        drop(answer);
    }
}

// === impl TurnOwner ===

impl TurnOwner {
    pub fn tenant(&self) -> Arc<str> {
        self.0.lock().tenant.clone()
    }

    /// From the next turn on.
    pub fn set(&self, tenant: &str) {
        let mut asked = self.0.lock();
        if *asked.tenant != *tenant {
            asked.tenant = tenant.into();
        }
    }
}

// === impl Polled ===

impl Polled {
    fn for_tenant(tenant: Arc<str>) -> Self {
        Self { outer: POLLED.replace(Some(tenant)) }
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        POLLED.set(self.outer.take());
    }
}

// === impl Ready ===

impl Ready {
    /// Whether this is within a turn of the same tenant. What it asked for itself before it is not needed then.
    fn is_polled_within(&self) -> bool {
        let mut asked = self.lock();
        let is_within = POLLED.with_borrow(|polled| polled.as_ref().is_some_and(|tenant| *tenant == asked.tenant));
        let unneeded = if is_within { std::mem::take(&mut asked.answer) } else { Answer::NotAsked };
        drop(asked);
        // Not under the lock: the end of a turn wakes another.
        drop(unneeded);
        is_within
    }

    /// The turn and whose it is, if it is granted; if not, `task` is woken when it is.
    fn take(&self, task: &Waker) -> Option<(Arc<str>, Permit)> {
        let mut asked = self.lock();
        match &mut asked.task {
            Some(known) => known.clone_from(task),
            none => *none = Some(task.clone()),
        }
        asked.ask(self);
        let (answer, permit) = match std::mem::take(&mut asked.answer) {
            Answer::Granted(permit) => (Answer::NotAsked, Some(permit)),
            Answer::GivesWay(permit) => {
                wake_after_others(task);
                (Answer::Granted(permit), None)
            }
            waiting => (waiting, None),
        };
        asked.answer = answer;
        permit.map(|permit| (asked.tenant.clone(), permit))
    }

    fn lock(&self) -> MutexGuard<'_, Asked> {
        // Nothing in here panics half-way, so a poisoned state is a whole one.
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Ready {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut asked = self.lock();
        asked.ask(self);
        let is_granted = matches!(asked.answer, Answer::GivesWay(_) | Answer::Granted(_));
        let task = if is_granted { asked.task.clone() } else { None };
        drop(asked);
        if let Some(task) = task {
            task.wake();
        }
    }
}

// === impl Asked ===

impl Asked {
    /// Asks the gate, once for each turn, and looks at what it answered. While it has none, the task is woken by the grant.
    fn ask(&mut self, ready: &Ready) {
        if matches!(self.answer, Answer::NotAsked) {
            self.answer = match ready.gate.ask(&self.tenant) {
                Ok(Entry::Admitted(permit)) => Answer::Granted(permit),
                Ok(Entry::Waiting(granted)) => Answer::Waiting(granted),
                // As many may wait as there are.
                Err(_) => Answer::NotAsked,
            };
        }
        let (Answer::Waiting(granted), Some(task)) = (&mut self.answer, &self.task) else { return };
        if let Poll::Ready(Ok(permit)) = Pin::new(granted).poll(&mut Context::from_waker(task)) {
            self.answer = Answer::GivesWay(permit);
        }
    }
}

/// When the runtime has polled what is ready now, and has looked for input.
fn wake_after_others(task: &Waker) {
    let first_poll = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(task));
    debug_assert!(first_poll.is_pending(), "it yields once");
}

// === impl InTurns ===

impl<F: Future + Unpin> Future for InTurns<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { turn, future } = self.get_mut();
        turn.poll(context, |context| Pin::new(future).poll(context))
    }
}

#[cfg(test)]
mod tests;
