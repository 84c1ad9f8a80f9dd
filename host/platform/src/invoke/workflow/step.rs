//! The invocation of a step.

use std::sync::Arc;

use domain::ids::RunId;
use domain::workflow::Spot;

use super::barrier::Barrier;
use super::given::Given;
use crate::invoke::{
    Executed, Invocation, Keeping, Recorder, ReplySlot, Transaction, execute, keep_recording, new_run_id,
};
use crate::ports::Reply;
use crate::{Error, Platform};

/// A step that is to be run.
pub(super) struct StepJob<'a> {
    pub(super) platform: &'a Platform,
    pub(super) invocation: Invocation<'a>,
    pub(super) transaction: Arc<Transaction>,
    /// Its last attempt lost against another run: this one holds the keys that it needs.
    pub(super) begins_again: bool,
    /// What its records are of.
    pub(super) emitter: &'a str,
    pub(super) spot: Spot,
    /// What its URLs end with.
    pub(super) key: String,
}

/// What the host functions of a step know besides those of other runs.
#[derive(Clone)]
pub(crate) struct StepContext {
    pub(crate) barrier: Barrier,
    pub(crate) given: Arc<Given>,
    /// Where the client of the run waits. What the step responds is its own until it is committed.
    pub(crate) client: Option<Arc<ReplySlot>>,
}

/// A step that ran, and is not committed yet.
pub(super) struct StepRan {
    /// Of its own record.
    pub(super) id: RunId,
    pub(super) spot: Spot,
    pub(super) key: String,
    pub(super) started_at_ms: u64,
    pub(super) executed: Executed,
    pub(super) recording: Keeping,
    /// What it responded.
    pub(super) reply: Option<Reply>,
}

// === impl StepJob ===

impl StepJob<'_> {
    pub(super) async fn run(self) -> Result<StepRan, Error> {
        let Self { platform, invocation, transaction, begins_again, emitter, spot, key } = self;
        if begins_again && !transaction.begin_again(&[]).await? {
            transaction.release().await;
            return Err(Error::Contended);
        }
        let (id, started_at_ms) = (new_run_id(platform, emitter), platform.clock.now_ms());
        let executed = execute(platform, &invocation, transaction).await?;
        let recorder = Recorder { id: &id, emitter };
        let recording = keep_recording(platform, &invocation, &executed, &recorder)?;
        let reply = invocation.reply.as_ref().and_then(|slot| slot.take());
        Ok(StepRan { id, spot, key, started_at_ms, executed, recording, reply })
    }
}
