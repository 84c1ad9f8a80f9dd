//! Work of the queue: leased, performed, and completed in a batch of its own.

mod agenda;
mod perform;
mod worker;

pub(super) use perform::{Completion, QueuedRun, RUN, TIMER, emitted_at_ms};
pub use worker::Worker;
