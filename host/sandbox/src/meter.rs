//! CPU time of a future: the time spent polling it; and how long it may go on before others have their turn.
//!
//! A guest gives way every few microseconds. While a run is young that would only make it share its processor and its
//! caches with every other young run, and all of them would end late. So it is resumed at once until its first turn is over;
//! from then on it takes its turns with the others, and one that never ends delays nobody for longer than one turn.
//!
//! Turns go round the tenants. The runtime takes tasks in the order they became ready, so that a tenant with a hundred runs
//! that compute would be a hundred turns ahead of another with one; only a few are let into its queue at a time, and those that
//! wait outside are taken from each tenant in turn.

use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use admission::{Bounds, Gate, Permit, Share};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// Whose turns a run takes.
#[derive(Clone)]
pub(crate) struct Turns {
    pub(crate) gate: Gate,
    pub(crate) tenant: Arc<str>,
}

/// Turns that are being taken, or have been given and wait for a thread. More than there are threads, so that none is idle.
pub(crate) fn turns() -> Gate {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
    let (total, unbounded) = (2 * threads, Share::new(u64::MAX, u64::MAX));
    Gate::new("turns", Bounds { places: Share::new(total, (total - 1).max(1)), waiting: unbounded })
}

/// Most runs of real components end within it.
const FIRST_TURN: Duration = Duration::from_micros(300);

/// Runs `future` for at most `limit`; also tells how long it was on a CPU. `None` is a missed deadline.
pub(crate) async fn run_metered<F: Future>(
    future: F,
    limit: Duration,
    turns: Option<Turns>,
) -> (Option<F::Output>, Duration) {
    let mut spent = Duration::ZERO;
    let metered = Metered { future: pin!(future), spent: &mut spent, turns, waiting: None };
    let done = tokio::time::timeout(limit, metered).await.ok();
    (done, spent)
}

struct Metered<'a, F> {
    future: Pin<&'a mut F>,
    spent: &'a mut Duration,
    turns: Option<Turns>,
    waiting: Option<BoxFuture<'static, Option<Permit>>>,
}

impl<F> Metered<'_, F> {
    /// Ready when it is the tenant's turn; the permit is held while that is taken.
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<Option<Permit>> {
        let Some(turns) = &self.turns else { return Poll::Ready(None) };
        if self.waiting.is_none() {
            if let Some(permit) = turns.gate.try_enter(&turns.tenant) {
                return Poll::Ready(Some(permit));
            }
            let Turns { gate, tenant } = turns.clone();
            self.waiting = Some(async move { gate.enter(&tenant).await.ok() }.boxed());
        }
        let granted = self.waiting.as_mut().map_or(Poll::Ready(None), |waiting| waiting.poll_unpin(context));
        if granted.is_ready() {
            self.waiting = None;
        }
        granted
    }
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    #[expect(clippy::disallowed_methods, reason = "CPU turns are measured in real time")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Poll::Ready(_permit) = self.turn(context) else { return Poll::Pending };
        let (started, spent_before) = (Instant::now(), *self.spent);
        let polled = if spent_before < FIRST_TURN {
            self.future.as_mut().poll_while_it_goes_on(context, || spent_before + started.elapsed() < FIRST_TURN)
        } else {
            self.future.as_mut().poll(context)
        };
        *self.spent = spent_before + started.elapsed();
        polled
    }
}

trait PollOn: Future {
    /// Polls again as long as the future only gave way, and `may_go_on`.
    fn poll_while_it_goes_on(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        may_go_on: impl Fn() -> bool,
    ) -> Poll<Self::Output> {
        let calls = Arc::new(Calls { waker: context.waker().clone(), state: AtomicU8::new(POLLING) });
        let waker = Waker::from(calls.clone());
        let mut watched = Context::from_waker(&waker);
        loop {
            let polled = self.as_mut().poll(&mut watched);
            if polled.is_ready() || !calls.came() {
                return polled;
            }
            if !may_go_on() {
                calls.pass_on();
                return Poll::Pending;
            }
        }
    }
}

impl<F: Future> PollOn for F {}

/// Whether a future was called to go on while it was being polled. Afterwards calls go to whom they are for.
struct Calls {
    waker: Waker,
    state: AtomicU8,
}

const WAITING: u8 = 0;
const POLLING: u8 = 1;
const CALLED: u8 = 2;

// === impl Calls ===

impl Calls {
    /// Takes note of a call during the poll that has just ended; without one the next call is passed on.
    fn came(&self) -> bool {
        let waiting = self.state.compare_exchange(POLLING, WAITING, Ordering::AcqRel, Ordering::Acquire);
        if waiting.is_err() {
            self.state.store(POLLING, Ordering::Release);
        }
        waiting.is_err()
    }

    /// The polls are over, and somebody has called.
    fn pass_on(&self) {
        self.state.store(WAITING, Ordering::Release);
        self.waker.wake_by_ref();
    }
}

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = self.state.compare_exchange(POLLING, CALLED, Ordering::AcqRel, Ordering::Acquire);
        if noted == Err(WAITING) {
            self.waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests;
