//! What each thread is polling, so that one which does not yield is noticed: everything else on its thread waits.
//!
//! Requests and background work mark the thread they are polled on; `server/watchdog.rs` looks at the marks.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A poll that takes longer is a stall.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// What is polled, by a name of the code: never something that a client chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// A request, by the template of its route.
    Route(&'static str),
    /// Background work, by its kind.
    Work(&'static str),
}

static THREADS: Mutex<Vec<Weak<Mark>>> = Mutex::new(Vec::new());

thread_local! {
    static MARK: Arc<Mark> = register();
}

/// What a thread is polling.
#[derive(Default)]
struct Mark(Mutex<Option<Polling>>);

#[derive(Clone, Copy)]
struct Polling {
    doing: Doing,
    since: Instant,
    is_reported: bool,
}

/// Puts back what was polled before, when it is dropped.
struct Entered {
    mark: Arc<Mark>,
    before: Option<Polling>,
}

/// The same future, marked while it is polled. A large one is given in a box: it is held twice here otherwise.
pub async fn watch<Watched: Future>(doing: Doing, future: Watched) -> Watched::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _entered = enter(doing);
        future.as_mut().poll(context)
    })
    .await
}

/// The same future, to be polled on another thread: marked there as what is polled on this one.
pub fn watch_as_here<Watched: Future>(future: Watched) -> impl Future<Output = Watched::Output> {
    let polling = MARK.with(|mark| lock(&mark.0).map(|polling| polling.doing));
    async move {
        match polling {
            Some(doing) => watch(doing, future).await,
            None => future.await,
        }
    }
}

/// What was begun too long ago and still keeps its thread, each poll once.
pub fn stalled(now: Instant) -> Vec<Doing> {
    let mut found = Vec::new();
    lock(&THREADS).retain(|mark| {
        let Some(mark) = mark.upgrade() else { return false };
        let mut polling = lock(&mark.0);
        if let Some(polling) = polling.as_mut().filter(|polling| !polling.is_reported)
            && now.saturating_duration_since(polling.since) >= PATIENCE
        {
            polling.is_reported = true;
            found.push(polling.doing);
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
    reason = "how long a poll took on this machine; a clock moved by hand has no say in it"
)]
fn enter(doing: Doing) -> Entered {
    let mark = MARK.with(Arc::clone);
    let polling = Polling { doing, since: Instant::now(), is_reported: false };
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

/// A stall is told once, whichever test asks: one at a time.
#[cfg(test)]
pub(crate) static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::lazy;

    use super::*;

    /// Tests of other threads may stall, on other routes.
    fn stalls_of(doing: Doing, after: Duration) -> usize {
        stalled(Instant::now() + after).into_iter().filter(|found| *found == doing).count()
    }

    #[tokio::test]
    async fn what_goes_on_elsewhere_is_marked_as_what_it_was_begun_for() {
        const ROUTE: Doing = Doing::Route("/v1/goes_on");
        let _turn = TURN.lock().await;
        let moving = lazy(|_| watch_as_here(async { stalls_of(ROUTE, PATIENCE) }));
        let moved = watch(ROUTE, moving).await;

        assert_eq!(stalls_of(ROUTE, PATIENCE), 0);
        let polled = std::thread::spawn(|| moved.now_or_never());
        assert_eq!(polled.join().unwrap(), Some(1));
    }

    #[tokio::test]
    async fn a_poll_that_takes_long_is_noticed_once_while_it_lasts() {
        const ROUTE: Doing = Doing::Route("/v1/stalls");
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
        let (outer, inner) = (Doing::Route("/v1/outer"), Doing::Work("inner"));
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
