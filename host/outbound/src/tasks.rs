//! The background tasks of kept-alive connections: counted, and ended by `Outbound::shutdown`.

use hyper::rt::Executor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

#[derive(Clone, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

// === impl Tasks ===

impl Tasks {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Drops all connections and waits until their tasks are gone.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.tracker.len()
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        let stop = self.stop.clone();
        self.tracker.spawn(async move { stop.run_until_cancelled_owned(task).await.map(drop) });
    }
}
