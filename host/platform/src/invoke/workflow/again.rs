//! A run that lost against another one begins again where it was committed last; a run that fails is given back at once.
//!
//! As with sources (`invoke/transaction.rs`), the first attempt is optimistic, and a step that has lost holds locks on the keys of
//! that attempt in the next. What holds keys is committed as soon as its step has ended, so that no run waits for keys while it
//! keeps others from theirs.

use std::sync::Arc;

use domain::workflow::{Position, Spot};
use store::{CommitError, Lookup, Op};

use super::barrier::Barrier;
use super::queue::queue_job;
use super::running::{Hold, Running};
use crate::Error;
use crate::invoke::Transaction;
use crate::records::workflow_run::RunState;
use crate::records::{Kept, WorkflowRun, table};

/// Attempts between two commits. The second one locks what the first one read, so a third means that a step read other keys.
const ATTEMPTS_MAXIMUM: usize = 16;

/// A step of a run, iterations and branches told apart.
pub(super) type StepAt = (Spot, String);

// === impl Running ===

impl Running<'_> {
    /// After a failure: `true` when the run may be driven again, `false` when it is gone, because it was cancelled.
    pub(super) async fn begin_again(&mut self, failure: Error) -> Result<bool, Error> {
        let lost = std::mem::take(&mut self.pending);
        for (at, transaction) in lost.transactions {
            if transaction.stand_back().await {
                self.again.insert(at, transaction);
            }
        }
        if !matches!(failure, Error::Changed | Error::Batch(CommitError::Locked { .. })) {
            return Err(failure);
        }
        self.attempts += 1;
        if self.attempts >= ATTEMPTS_MAXIMUM {
            return Err(Error::Contended);
        }
        // It did not count, and is charged.
        self.pending.usage = lost.usage;
        if !self.rewind().await? {
            self.end_hold().await?;
            return Ok(false);
        }
        let (barrier, requests) = Barrier::new();
        (self.barrier, self.requests) = (barrier, Some(requests));
        (self.failure, self.exported_bytes, self.steps_run) = (None, 0, 0);
        self.deadline_ms = self.platform.clock.now_ms().saturating_add(self.version.timeout_ms());
        if let Some(slot) = &self.reply {
            slot.withdraw();
        }
        Ok(true)
    }

    /// Back to what is committed; `false` when that is gone.
    async fn rewind(&mut self) -> Result<bool, Error> {
        if self.stored.is_none() {
            self.run.position = Position::begin(&self.version.document);
            self.run.steps.clear();
            return Ok(true);
        }
        let Some(kept) = self.kept().await? else { return Ok(false) };
        if self.renewed.is_some() && self.stored != Some(kept.version) {
            // This host paused for longer than the hold: another has gone on with the run.
            return Err(CommitError::LeaseLost.into());
        }
        let (used, mut run) = (self.run.used, kept.record);
        if run.is_counted {
            run.started_at_ms = self.run.started_at_ms;
        }
        (self.stored, self.stored_state) = (Some(kept.version), run.state);
        self.run = WorkflowRun { used, ..run };
        if matches!(self.hold, Hold::Tick(_)) {
            self.run.position.wake(&self.version.document, self.platform.clock.now_ms());
        }
        Ok(true)
    }

    /// Has the run go on from the queue, when it began here and was stored: its hold would keep it until long after its time.
    /// Should this fail as well, the hold ends by itself.
    pub(super) async fn give_back(&mut self, failure: &Error) {
        let is_held = matches!(self.hold, Hold::Own) && self.stored.is_some();
        // With its lease another host got the run.
        if !is_held || matches!(failure, Error::Batch(CommitError::LeaseLost)) {
            return;
        }
        if let Err(error) = self.queue_again().await {
            tracing::warn!(run.id = %self.run.id, %error, "a run that failed goes on once its hold ends");
        }
    }

    async fn queue_again(&mut self) -> Result<(), Error> {
        let Some(kept) = self.kept().await?.filter(|kept| Some(kept.version) == self.stored) else { return Ok(()) };
        let unchanged = table::unchanged(&kept);
        // The job that is held is of a segment that has ended.
        let (state, segment) = (RunState::Queued, kept.record.segment + 1);
        let run = WorkflowRun { state, segment, ..kept.record };
        let batch = self.platform.batch(self.owner.tenant).require(unchanged).then(table::put(&run)?);
        let job = queue_job(self.platform, self.version, &run)?;
        self.platform.commit(batch.then(job.operation.clone())).await?;
        job.keep_place();
        self.run = run;
        Ok(())
    }

    /// Of a run that is gone.
    async fn end_hold(&self) -> Result<(), Error> {
        let end = match &self.hold {
            Hold::Job(lease) => Op::Acknowledge(*lease),
            Hold::Tick(lease) => Op::FinishTick { lease: lease.clone(), next_due_ms: None },
            Hold::Own => return Ok(()),
        };
        self.platform.commit(self.platform.batch(self.owner.tenant).then(end)).await?;
        Ok(())
    }

    async fn kept(&self) -> Result<Option<Kept<WorkflowRun>>, Error> {
        let id = self.run.id.to_string();
        Ok(table::find::<WorkflowRun>(&*self.platform.store, self.owner.tenant, Lookup::Id(&id)).await?)
    }

    /// Steps that were at work when the run ended or failed: what they hold is free again.
    pub(super) async fn release_work(&mut self) {
        for (_, transaction) in std::mem::take(&mut self.at_work) {
            transaction.release().await;
        }
    }

    /// Whether other runs may be waiting for a commit of this one.
    pub(super) fn is_waited_for(&self) -> bool {
        self.pending
            .transactions
            .iter()
            .any(|(_, transaction): &(StepAt, Arc<Transaction>)| transaction.is_waited_for())
    }
}
