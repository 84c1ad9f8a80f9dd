//! CPU time of a future: the time spent polling it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Runs `future` for at most `limit`; also tells how long it was on a CPU. `None` is a missed deadline.
pub(crate) async fn run_metered<F: Future>(future: F, limit: Duration) -> (Option<F::Output>, Duration) {
    let mut spent = Duration::ZERO;
    let metered = Metered { future: pin!(future), spent: &mut spent };
    let done = tokio::time::timeout(limit, metered).await.ok();
    (done, spent)
}

struct Metered<'a, F> {
    future: Pin<&'a mut F>,
    spent: &'a mut Duration,
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let started = Instant::now();
        let polled = self.future.as_mut().poll(context);
        *self.spent += started.elapsed();
        polled
    }
}
