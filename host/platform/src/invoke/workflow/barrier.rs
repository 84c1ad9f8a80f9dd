//! Before the first request of a step leaves, everything that steps before it did is committed.
//!
//! Steps of a run ask the task that drives it: it alone commits, so that no lock is held while a commit is under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};

use crate::ports::ServiceError;

#[derive(Clone)]
pub(crate) struct Barrier {
    /// That something is not committed.
    is_closed: Arc<AtomicBool>,
    requests: mpsc::UnboundedSender<oneshot::Sender<bool>>,
}

pub(super) type Requests = mpsc::UnboundedReceiver<oneshot::Sender<bool>>;

#[derive(Debug, thiserror::Error)]
#[error("what the run did so far could not be committed")]
struct NotCommitted;

// === impl Barrier ===

impl Barrier {
    /// Bounded by the steps of one run that are at work: each waits for its answer.
    pub(super) fn new() -> (Self, Requests) {
        let (requests, asked) = mpsc::unbounded_channel();
        (Self { is_closed: Arc::default(), requests }, asked)
    }

    pub(super) fn set(&self, is_closed: bool) {
        self.is_closed.store(is_closed, Ordering::Relaxed);
    }

    pub(crate) async fn pass(&self) -> Result<(), ServiceError> {
        if !self.is_closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.commit().await
    }

    /// Waits until everything that steps did before is committed, and what waits for a commit has been told.
    pub(crate) async fn commit(&self) -> Result<(), ServiceError> {
        let (answer, answered) = oneshot::channel();
        let is_asked = self.requests.send(answer).is_ok();
        if is_asked && answered.await == Ok(true) {
            return Ok(());
        }
        Err(ServiceError(Box::new(NotCommitted)))
    }
}
