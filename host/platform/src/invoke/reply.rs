//! The slot in which a request waits for the response of its run.
//!
//! A run that is executed again responds again: the slot holds the answer of the last attempt, and none when that gave none or
//! was rolled back. It is taken once, and stays to be recorded.

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
        if !held.is_waiting() {
            return None;
        }
        held.was_taken = true;
        held.reply.clone()
    }

    /// The same unless there is one already: of the steps of a run the first that responds counts.
    pub(crate) fn offer(&self, reply: Reply) {
        let mut held = self.lock();
        if held.reply.is_none() {
            self.status.store(reply.status, Ordering::Relaxed);
            held.reply = Some(reply);
            self.arrived.notify_one();
        }
    }

    /// What was responded does not count, unless the client has it already.
    pub(crate) fn withdraw(&self) {
        let mut held = self.lock();
        if held.is_waiting() {
            self.status.store(0, Ordering::Relaxed);
            held.reply = None;
        }
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
