//! The slot in which a request waits for the response of its run.
//!
//! A run that is executed again responds again: the slot holds the answer of the last attempt. It is taken once, and stays to
//! be recorded.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ports::Reply;

#[derive(Default)]
pub(crate) struct ReplySlot {
    held: Mutex<Held>,
    arrived: Notify,
    status: AtomicU16,
}

#[derive(Default)]
struct Held {
    reply: Option<Reply>,
    was_taken: bool,
}

// === impl ReplySlot ===

impl ReplySlot {
    pub(crate) fn put(&self, reply: Reply) {
        self.status.store(reply.status, Ordering::Relaxed);
        *self.lock() = Held { reply: Some(reply), was_taken: false };
        self.arrived.notify_one();
    }

    /// A copy, for what is recorded; also after it was taken, as is its status.
    pub(crate) fn peek(&self) -> Option<Reply> {
        self.lock().reply.clone()
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self.status.load(Ordering::Relaxed) {
            0 => None,
            status => Some(status),
        }
    }

    pub(crate) fn take(&self) -> Option<Reply> {
        let mut held = self.lock();
        match std::mem::replace(&mut held.was_taken, true) {
            false => held.reply.clone(),
            true => None,
        }
    }

    /// What was responded does not count.
    pub(crate) fn clear(&self) {
        self.status.store(0, Ordering::Relaxed);
        *self.lock() = Held::default();
    }

    /// Returns when a reply is there. Cancel-safe; for one waiter.
    pub(crate) async fn arrived(&self) {
        while !self.lock().is_waiting() {
            self.arrived.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Held ===

impl Held {
    fn is_waiting(&self) -> bool {
        self.reply.is_some() && !self.was_taken
    }
}
