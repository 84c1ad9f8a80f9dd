//! Notices a worker that does not yield: everything else on its thread waits meanwhile.
//!
//! Requests mark the thread they are polled on; a thread of its own looks at the marks. A stall is logged while it lasts, so
//! that one that never ends is seen too, and counted with the route.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::metrics::Metrics;

/// A poll that takes longer is a stall.
const PATIENCE: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_millis(25);

static THREADS: Mutex<Vec<Weak<Mark>>> = Mutex::new(Vec::new());

thread_local! {
    static MARK: Arc<Mark> = register();
}

/// What a thread is polling.
#[derive(Default)]
struct Mark(Mutex<Option<Polling>>);

#[derive(Clone, Copy)]
struct Polling {
    route: &'static str,
    since: Instant,
    is_reported: bool,
}

/// Puts back what was polled before, when it is dropped.
struct Entered {
    mark: Arc<Mark>,
    before: Option<Polling>,
}

/// The same future, marked while it is polled.
pub(crate) async fn watch<Watched: Future>(route: &'static str, future: Watched) -> Watched::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = enter(route);
        future.as_mut().poll(context)
    })
    .await
}

/// Watches for as long as the process lives.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own looks for tasks that block; the runtime may be what is stuck"
)]
pub fn start(metrics: Arc<Metrics>) -> std::io::Result<()> {
    let watching = move || {
        loop {
            std::thread::sleep(LOOK_EVERY);
            for route in stalled(Instant::now()) {
                tracing::warn!(route, "a worker has not yielded for {} ms", PATIENCE.as_millis());
                metrics.stalled(route);
            }
        }
    };
    std::thread::Builder::new().name("watchdog".to_owned()).spawn(watching).map(drop)
}

/// The routes of polls that have begun too long ago, each poll once.
fn stalled(now: Instant) -> Vec<&'static str> {
    let mut found = Vec::new();
    lock(&THREADS).retain(|mark| {
        let Some(mark) = mark.upgrade() else { return false };
        let mut polling = lock(&mark.0);
        if let Some(polling) = polling.as_mut().filter(|polling| !polling.is_reported)
            && now.saturating_duration_since(polling.since) >= PATIENCE
        {
            polling.is_reported = true;
            found.push(polling.route);
        }
        true
    });
    found
}

fn register() -> Arc<Mark> {
    let mark = Arc::<Mark>::default();
    lock(&THREADS).push(Arc::downgrade(&mark));
    mark
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own looks for tasks that block; the runtime may be what is stuck"
)]
fn enter(route: &'static str) -> Entered {
    let mark = MARK.with(Arc::clone);
    let polling = Polling { route, since: Instant::now(), is_reported: false };
    let before = lock(&mark.0).replace(polling);
    Entered { mark, before }
}

impl Drop for Entered {
    fn drop(&mut self) {
        *lock(&self.mark.0) = self.before.take();
    }
}

fn lock<Value>(mutex: &Mutex<Value>) -> MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stall is told once, whichever test asks: one at a time.
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    /// Tests of other threads may stall, on other routes.
    fn stalls_of(route: &str, after: Duration) -> usize {
        stalled(Instant::now() + after).into_iter().filter(|found| *found == route).count()
    }

    #[tokio::test]
    async fn a_poll_that_takes_long_is_noticed_once_while_it_lasts() {
        const ROUTE: &str = "/v1/stalls";
        let _turn = TURN.lock().await;
        let seen = watch(ROUTE, async {
            let early = stalls_of(ROUTE, Duration::ZERO);
            let late = stalls_of(ROUTE, PATIENCE);
            (early, late, stalls_of(ROUTE, PATIENCE * 2))
        });

        assert_eq!(seen.await, (0, 1, 0));
        assert_eq!(stalls_of(ROUTE, PATIENCE), 0, "it is over");
    }

    #[tokio::test]
    async fn a_future_that_waits_is_no_stall_and_an_inner_one_is_its_own() {
        let _turn = TURN.lock().await;
        let (outer, inner) = ("/v1/outer", "/v1/inner");
        let seen = watch(outer, async {
            tokio::task::yield_now().await;
            let within = watch(inner, async { stalls_of(inner, PATIENCE) }).await;
            // Asked once: what is told is not told again.
            let after = stalled(Instant::now() + PATIENCE);
            (within, after.contains(&inner), after.contains(&outer))
        });

        assert_eq!(seen.await, (1, false, true));
    }
}
