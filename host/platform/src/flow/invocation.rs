//! A run made ready, and its attempts.
//!
//! Sources, hooks, actions and steps differ in what they call and in what becomes of the outcome, not in how they run.

use std::collections::HashMap;
use std::sync::Arc;

use domain::limits::Limits;
use store::{CommitError, MAX_OPERATIONS, Op};

use super::reply::ReplySlot;
use super::services::{RunContext, Services, write_operations};
use super::transaction::{READ_KEYS_MAXIMUM, Refusal, Transaction, Waited};
use crate::ports::{Fault, Outcome, Priority, Program, RunServices, Task};
use crate::{Error, Platform, Secret};

pub(crate) struct Invocation {
    pub(crate) program: Arc<Program>,
    pub(crate) task: Task,
    pub(crate) credentials: Arc<HashMap<String, Secret<String>>>,
    pub(crate) reply: Option<Arc<ReplySlot>>,
    pub(crate) transaction: Arc<Transaction>,
}

// === impl Invocation ===

impl Invocation {
    /// Runs, again in a fresh sandbox while what was read proves stale before the run had an effect. Nothing is
    /// committed but what the component flushed.
    pub(crate) async fn execute(&self, platform: &Platform) -> Result<Outcome, Error> {
        loop {
            let ran = self.attempt(platform).await;
            let limits = &platform.config.limits;
            match self.transaction.refusal() {
                None if ran.is_err() => self.transaction.release().await,
                None => {}
                Some(Refusal::Full) => return Ok(over_db_limit(limits)),
                Some(Refusal::TooManyReads) => return Ok(over_reads()),
                Some(Refusal::Busy) if self.transaction.queue_up().await? => continue,
                Some(Refusal::Stale) if self.transaction.begin_again(&[]).await? => continue,
                Some(Refusal::Busy | Refusal::Stale) => {
                    self.transaction.release().await;
                    return Err(Error::Contended);
                }
            }
            return ran;
        }
    }

    /// Runs, and commits the state that the run wrote together with `more`, for runs that have nothing else to commit.
    pub(crate) async fn execute_and_commit(
        &self,
        platform: &Platform,
        more: impl Fn(&Outcome) -> Vec<Op>,
    ) -> Result<Outcome, Error> {
        let (transaction, mut waited) = (&self.transaction, Waited::default());
        let mut outcome = self.execute(platform).await?;
        loop {
            let cap_bytes = platform.config.limits.db_source_bytes;
            let mut batch = platform.batch(transaction.tenant());
            batch.operations = more(&outcome);
            batch.operations.extend(write_operations(transaction.scope(), outcome.writes.clone(), cap_bytes));
            transaction.seal(&mut batch);
            match platform.store.commit(batch).await {
                Ok(_) => return Ok(outcome),
                Err(CommitError::OverCap { cap_bytes, .. }) => over_cap(&mut outcome, cap_bytes),
                Err(CommitError::Locked { .. }) if transaction.wait(&outcome.writes, &mut waited).await => {}
                Err(CommitError::Conflict { .. }) if transaction.begin_again(&outcome.writes).await? => {
                    let spent = outcome.usage;
                    outcome = self.execute(platform).await?;
                    outcome.usage = outcome.usage.plus(spent);
                }
                Err(error) => {
                    transaction.release().await;
                    return Err(match error {
                        CommitError::Locked { .. } | CommitError::Conflict { .. } => Error::Contended,
                        error => error.into(),
                    });
                }
            }
        }
    }

    async fn attempt(&self, platform: &Platform) -> Result<Outcome, Error> {
        let context = RunContext {
            transaction: self.transaction.clone(),
            credentials: self.credentials.clone(),
            reply: self.reply.clone(),
        };
        let services: Arc<dyn RunServices> = Arc::new(Services::new(platform, context));
        let priority = if self.transaction.is_waited_for() { Priority::Urgent } else { Priority::Normal };
        Ok(platform.sandbox.run(&self.program, &self.task, priority, services).await?)
    }
}

fn over_db_limit(limits: &Limits) -> Outcome {
    let mut outcome = Outcome::default();
    over_cap(&mut outcome, limits.db_source_bytes as u64);
    outcome
}

fn over_reads() -> Outcome {
    let mut outcome = Outcome::default();
    fail(&mut outcome, "keys of `db` read in one run", READ_KEYS_MAXIMUM);
    outcome
}

/// A run that outgrew its store did not happen, but for the error.
pub(super) fn over_cap(outcome: &mut Outcome, cap_bytes: u64) {
    let limit = usize::try_from(cap_bytes).unwrap_or(usize::MAX);
    fail(outcome, "bytes stored by one source", limit);
}

/// Nor did one whose events have too many listeners for one batch.
pub(super) fn over_operations(outcome: &mut Outcome) {
    outcome.logs.clear();
    fail(outcome, "events, log lines, writes and deliveries of one run", MAX_OPERATIONS);
}

fn fail(outcome: &mut Outcome, what: &str, limit: usize) {
    outcome.fault = Some(Fault::TooMuchOutput { what: what.to_owned(), limit });
    discard(outcome);
}

/// Leaves what a run cost, logged and failed with.
pub(super) fn discard(outcome: &mut Outcome) {
    *outcome = Outcome {
        logs: std::mem::take(&mut outcome.logs),
        usage: outcome.usage,
        has_replied: outcome.has_replied,
        fault: outcome.fault.take(),
        ..Outcome::default()
    };
}
