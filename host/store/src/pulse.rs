//! Wakes workers that wait for jobs and timers.
//!
//! Best effort by design: a missed pulse costs latency, never correctness, because a worker also knows when the next job
//! is due. Events have a channel of their own, which may not miss anything: see `feed.rs`.

use tokio::sync::watch;

use crate::{Batch, Op};

#[derive(Debug, Clone)]
pub struct Pulse {
    work: watch::Sender<u64>,
}

impl Pulse {
    /// Changes when jobs or timers were committed.
    pub fn work(&self) -> watch::Receiver<u64> {
        self.work.subscribe()
    }

    pub(crate) fn new() -> Self {
        Self { work: watch::Sender::new(0) }
    }

    pub(crate) fn work_is_there(&self) {
        self.work.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Whether the batch, once applied, leaves work that may be due.
pub(crate) fn makes_work(batch: &Batch) -> bool {
    batch.operations.iter().any(|operation| {
        // An acknowledged job frees its lane: the next one may be due already.
        matches!(
            operation,
            Op::Enqueue(_) | Op::Acknowledge(_) | Op::Reschedule { .. } | Op::SetTimer { .. } | Op::FinishTick { .. }
        )
    })
}
