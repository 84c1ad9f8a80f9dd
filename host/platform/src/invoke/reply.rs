//! Where a request waits for what its run responds.
//!
//! A run that is executed again responds again: the slot holds the answer of the last attempt until it is taken.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::ports::Reply;

#[derive(Default)]
pub(crate) struct ReplySlot {
    reply: Mutex<Option<Reply>>,
    arrived: Notify,
}

// === impl ReplySlot ===

impl ReplySlot {
    pub(crate) fn put(&self, reply: Reply) {
        *self.lock() = Some(reply);
        self.arrived.notify_one();
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
