//! Wakes those who wait for work or for events.
//!
//! Best effort by design: a missed pulse costs latency, never correctness, because whoever waits
//! also knows when the next job is due and reads from the id it saw last.

use tokio::sync::{broadcast, watch};

use crate::{Batch, Op, Tenant};

/// A reader that is this far behind is told so and reads the stream instead.
const APPENDED_BACKLOG: usize = 1024;

#[derive(Debug, Clone)]
pub struct Pulse {
    work: watch::Sender<u64>,
    events: broadcast::Sender<Appended>,
}

/// An emitter has new entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    pub tenant: Tenant,
    pub emitter: String,
}

impl Pulse {
    /// Changes when jobs or timers were committed.
    pub fn work(&self) -> watch::Receiver<u64> {
        self.work.subscribe()
    }

    /// One message per emitter and batch; `Lagged` means: read everything you follow.
    pub fn events(&self) -> broadcast::Receiver<Appended> {
        self.events.subscribe()
    }

    pub(crate) fn new() -> Self {
        Self { work: watch::Sender::new(0), events: broadcast::Sender::new(APPENDED_BACKLOG) }
    }

    pub(crate) fn work_is_there(&self) {
        self.work.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn appended(&self, appended: Appended) {
        // Nobody listening is the usual case, not an error.
        let _ = self.events.send(appended);
    }

    pub(crate) fn committed(&self, touched: &Touched) {
        if touched.has_work {
            self.work_is_there();
        }
        for emitter in &touched.emitters {
            self.appended(Appended { tenant: touched.tenant.clone(), emitter: emitter.clone() });
        }
    }
}

/// What a batch will wake, noted before the batch is given away.
#[derive(Debug)]
pub(crate) struct Touched {
    tenant: Tenant,
    pub(crate) has_work: bool,
    pub(crate) emitters: Vec<String>,
}

impl Touched {
    pub(crate) fn by(batch: &Batch) -> Self {
        let mut touched = Self { tenant: batch.tenant.clone(), has_work: false, emitters: Vec::new() };
        for operation in &batch.operations {
            match operation {
                // An acknowledged job frees its lane: the next one may be due already.
                Op::Enqueue(_)
                | Op::Acknowledge(_)
                | Op::Reschedule { .. }
                | Op::SetTimer { .. }
                | Op::FinishTick { .. } => touched.has_work = true,
                Op::Append { emitter, .. } if touched.emitters.last() != Some(emitter) => {
                    touched.emitters.push(emitter.clone());
                }
                _ => {}
            }
        }
        touched
    }
}
