//! Work that outlives the request that started it.
//!
//! Most requests are answered when their run ends, and a task for each would only cost a spawn and a wake-up. So the work is
//! polled in the request's own task, and becomes a task only if the request is dropped before it ends.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::flow::work::RUN;
use crate::watching::watch;

/// Dropped before it has ended, it goes on as a task.
pub(crate) struct Outliving {
    work: Option<BoxFuture<'static, ()>>,
    tasks: TaskTracker,
    /// Shutdown waits for this as it waits for a task.
    _counted: TaskTrackerToken,
}

// === impl Outliving ===

impl Outliving {
    pub(crate) fn new(work: BoxFuture<'static, ()>, tasks: &TaskTracker) -> Self {
        Self { work: Some(work), tasks: tasks.clone(), _counted: tasks.token() }
    }
}

impl Future for Outliving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.work else {
            return Poll::Ready(());
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.work = None;
        }
        polled
    }
}

impl Drop for Outliving {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and what is not committed has not happened. Nor is what panicked
        // polled again.
        if let (Some(work), Ok(runtime), false) = (self.work.take(), Handle::try_current(), std::thread::panicking()) {
            self.tasks.spawn_on(watch(RUN, work), &runtime);
        }
    }
}

#[cfg(test)]
mod tests;
