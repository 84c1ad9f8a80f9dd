//! Runs of this host that want the same key of `db`, in order of arrival.
//!
//! A queue is fairness and nothing else: it spares runs that would only conflict with each other the useless work. What
//! a commit guarantees rests on its preconditions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::Tenant;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// A key of one source's store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) tenant: Tenant,
    pub(super) scope: String,
    pub(super) key: String,
}

/// A queue exists while a run holds its front or waits in it, so memory is bounded by the runs under way.
#[derive(Default)]
pub(crate) struct KeyQueues(Mutex<HashMap<Key, Queue>>);

#[derive(Clone, Default)]
struct Queue {
    front: Arc<AsyncMutex<()>>,
    /// The run at the front waits for the outside.
    is_long: Arc<AtomicBool>,
}

/// The front of a key's queue; dropped, the next run has it.
pub(super) struct Front {
    queues: Arc<KeyQueues>,
    key: Key,
    is_long: Arc<AtomicBool>,
    guard: Option<OwnedMutexGuard<()>>,
}

// === impl KeyQueues ===

impl KeyQueues {
    /// Whether the run at the front only computes, so that waiting for it is short. A run that waits for a request may in
    /// turn wait for the caller of this function.
    pub(super) fn is_briefly_busy(&self, key: &Key) -> bool {
        let queues = self.lock();
        !queues.is_empty() && queues.get(key).is_some_and(|queue| !queue.is_long.load(Ordering::Relaxed))
    }

    /// Waits for the front; first come, first served. Cancel-safe: a run that stops waiting leaves the queue.
    pub(super) async fn join(self: &Arc<Self>, key: Key) -> Front {
        let Queue { front, is_long } = self.queue(&key);
        let mut front_of_queue = Front { queues: self.clone(), key, is_long, guard: None };
        front_of_queue.guard = Some(front.lock_owned().await);
        front_of_queue
    }

    pub(super) fn try_join(self: &Arc<Self>, key: Key) -> Option<Front> {
        let Queue { front, is_long } = self.queue(&key);
        let guard = Some(front.try_lock_owned().ok()?);
        Some(Front { queues: self.clone(), key, is_long, guard })
    }

    fn queue(&self, key: &Key) -> Queue {
        self.lock().entry(key.clone()).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Front ===

impl Front {
    pub(super) fn key(&self) -> &str {
        &self.key.key
    }

    pub(super) fn is_waiting_for_the_outside(&self) {
        self.is_long.store(true, Ordering::Relaxed);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if self.guard.is_some() {
            self.is_long.store(false, Ordering::Relaxed);
        }
        self.guard = None;
        let mut queues = self.queues.lock();
        // Counted under the map's lock, from which alone new references are made: one left is the map's own.
        if queues.get(&self.key).is_some_and(|queue| Arc::strong_count(&queue.front) == 1) {
            queues.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests;
