//! Measures the CPU time of a run (the time spent polling its future) and schedules runs in time slices.
//!
//! A guest yields every few microseconds. A new run is polled again at once until its first time slice is used up, so that
//! most runs end in one slice: sharing the processor and its caches among all new runs would make each of them end later.
//! After the first slice a run is rescheduled at every yield, so one that never ends delays others by one slice at most.
//! Around it, slices are given round robin by tenant (`admission/turns.rs`).

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The first time slice of a run. Most runs of real components end within it.
const FIRST_TURN: Duration = Duration::from_micros(300);

/// A deadline that is noticed so much too late tells that the host stood still: it was suspended, or had no CPU.
const STOOD_STILL: Duration = Duration::from_millis(500);

/// Runs `future` for at most `limit`; also tells how long it was on a CPU. `None` is a missed deadline. A run does not pay for
/// a host that stood still: it has its time once more.
#[expect(clippy::disallowed_methods, reason = "deadlines are measured in real time")]
pub(crate) async fn run_metered<F: Future>(future: F, limit: Duration) -> (Option<F::Output>, Duration) {
    let mut spent = Duration::ZERO;
    let mut metered = Metered { future: pin!(future), spent: &mut spent };
    let started = tokio::time::Instant::now();
    let done = match tokio::time::timeout(limit, &mut metered).await {
        Err(_) if started.elapsed() > limit.saturating_add(STOOD_STILL) => tokio::time::timeout(limit, metered).await,
        done => done,
    };
    (done.ok(), spent)
}

struct Metered<'a, F> {
    future: Pin<&'a mut F>,
    spent: &'a mut Duration,
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    #[expect(clippy::disallowed_methods, reason = "CPU turns are measured in real time")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, spent } = &mut *self;
        let (started, spent_before) = (Instant::now(), **spent);
        let polled = if spent_before < FIRST_TURN {
            future.as_mut().poll_while_it_goes_on(context, || spent_before + started.elapsed() < FIRST_TURN)
        } else {
            future.as_mut().poll(context)
        };
        **spent = spent_before + started.elapsed();
        polled
    }
}

trait PollOn: Future {
    /// Polls again as long as the future only yielded (it woke itself during the poll), and `may_go_on`.
    fn poll_while_it_goes_on(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        may_go_on: impl Fn() -> bool,
    ) -> Poll<Self::Output> {
        let recorder = Arc::new(WakeRecorder { waker: context.waker().clone(), state: AtomicU8::new(POLLING) });
        let waker = Waker::from(recorder.clone());
        let mut watched = Context::from_waker(&waker);
        loop {
            let polled = self.as_mut().poll(&mut watched);
            if polled.is_ready() || !recorder.take_wake() {
                return polled;
            }
            if !may_go_on() {
                recorder.forward();
                return Poll::Pending;
            }
        }
    }
}

impl<F: Future> PollOn for F {}

/// A waker that records wakes during a poll and otherwise forwards them to the task.
struct WakeRecorder {
    waker: Waker,
    state: AtomicU8,
}

/// Wakes are forwarded.
const FORWARDING: u8 = 0;
/// A poll is under way, without a wake so far.
const POLLING: u8 = 1;
/// A poll is under way, and a wake came.
const WOKEN: u8 = 2;

// === impl WakeRecorder ===

impl WakeRecorder {
    /// Whether a wake came during the poll that has just ended. If so, recording goes on; if not, the next is forwarded.
    fn take_wake(&self) -> bool {
        let waiting = self.state.compare_exchange(POLLING, FORWARDING, Ordering::AcqRel, Ordering::Acquire);
        if waiting.is_err() {
            self.state.store(POLLING, Ordering::Release);
        }
        waiting.is_err()
    }

    /// Ends recording and forwards the wake that was recorded.
    fn forward(&self) {
        self.state.store(FORWARDING, Ordering::Release);
        self.waker.wake_by_ref();
    }
}

impl Wake for WakeRecorder {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = self.state.compare_exchange(POLLING, WOKEN, Ordering::AcqRel, Ordering::Acquire);
        if noted == Err(FORWARDING) {
            self.waker.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests;
