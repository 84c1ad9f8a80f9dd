//! The slot in which a request waits for the response of its run.
//!
//! A run that is executed again responds again: the slot holds the answer of the last attempt until it is taken.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ports::Reply;

#[derive(Default)]
pub(crate) struct ReplySlot {
    reply: Mutex<Option<Reply>>,
    arrived: Notify,
    status: AtomicU16,
}

// === impl ReplySlot ===

impl ReplySlot {
    pub(crate) fn put(&self, reply: Reply) {
        self.status.store(reply.status, Ordering::Relaxed);
        *self.lock() = Some(reply);
        self.arrived.notify_one();
    }

    /// A copy, for what is recorded.
    pub(crate) fn peek(&self) -> Option<Reply> {
        self.lock().clone()
    }

    /// Of the reply, also after it was taken.
    pub(crate) fn status(&self) -> Option<u16> {
        match self.status.load(Ordering::Relaxed) {
            0 => None,
            status => Some(status),
        }
    }

    pub(crate) fn take(&self) -> Option<Reply> {
        self.lock().take()
    }

    /// Returns when a reply is there. Cancel-safe; for one waiter.
    pub(crate) async fn arrived(&self) {
        while self.lock().is_none() {
            self.arrived.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reply>> {
        self.reply.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
