//! Runs an invocation in fresh sandboxes until one attempt counts. Nothing is committed but what the component flushed.

use std::collections::HashMap;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use domain::json::Json;
use domain::outcome::Usage;
use serde_json::{Map, Value};
use store::MAX_OPERATIONS;

use super::Invocation;
use super::instance::Instance;
use super::recording;
use super::reply::ReplySlot;
use super::services::{RunContext, Services};
use super::transaction::{READ_KEYS_MAXIMUM, Refusal, StoreLate, Transaction};
use super::workflow::StepContext;
use crate::ports::{
    Call, Emit, Fault, Outcome, Priority, ProgramHandle, RunLimits, RunServices, SandboxError, Task, Thrown,
};
use crate::tokens::Injector;
use crate::{Error, Platform, Secret};

/// A run that ended, and is not committed yet.
pub(crate) struct Executed {
    pub(crate) transaction: Arc<Transaction>,
    pub(crate) outcome: Outcome,
    /// What the guest was called with, when the run was recorded.
    pub(crate) call: Option<String>,
    /// Of attempts before this one, which left nothing: it is charged, and not part of the recording.
    pub(crate) earlier: Usage,
}

/// What every attempt needs.
struct Prepared {
    program: ProgramHandle,
    task: Task,
    credentials: Arc<HashMap<String, Secret<String>>>,
    injector: Option<Arc<Injector>>,
    reply: Option<Arc<ReplySlot>>,
    step: Option<StepContext>,
    transaction: Arc<Transaction>,
}

#[boxed]
pub(crate) async fn execute(
    platform: &Platform,
    invocation: &Invocation<'_>,
    transaction: Arc<Transaction>,
) -> Result<Executed, Error> {
    let description = invocation.target.description;
    invocation.withdraw_reply();
    let (mut outcome, call) = match &invocation.call {
        // Design: "a source without `run` but with a timer emits the tick itself".
        Call::Run { event } if !description.has_run => (emit_unchanged(event), None),
        _ => match prepare(platform, invocation, transaction.clone()).await? {
            Ok(prepared) => {
                let mut outcome = prepared.execute(platform).await?;
                outcome.flushed = prepared.transaction.take_flushed();
                if let Some(injector) = &prepared.injector {
                    conceal(&mut outcome, injector);
                }
                (outcome, Some(prepared.task.call))
            }
            Err(fault) => (Outcome::failed(fault), None),
        },
    };
    if description.is_atomic && outcome.fault.is_some() {
        discard(&mut outcome);
        invocation.withdraw_reply();
    }
    Ok(Executed { transaction, outcome, call, earlier: Usage::default() })
}

fn emit_unchanged(event: &Json) -> Outcome {
    let metadata = Value::Object(Map::new());
    Outcome { emits: vec![Emit { event: event.clone(), metadata }], ..Outcome::default() }
}

/// Ready to run, or why it cannot be.
async fn prepare(
    platform: &Platform,
    invocation: &Invocation<'_>,
    transaction: Arc<Transaction>,
) -> Result<Result<Prepared, Fault>, Error> {
    let Invocation { owner, target, call, limits, reply, step, .. } = invocation;
    let program = platform.program(owner.tenant, target.origin, target.program);
    let instance = match Instance::new(platform, owner.tenant, target).await? {
        Ok(instance) => instance,
        Err(fault) => return Ok(Err(fault)),
    };
    let limits = RunLimits { recording_bytes: recording::limit_bytes(platform, invocation), ..*limits };
    let call = call.to_json(target.id, instance.props.expose());
    let task = Task { tenant: owner.tenant.to_string(), call, limits, replay: None };
    let (credentials, injector) = (Arc::new(instance.credentials), instance.injector.map(Arc::new));
    let (reply, step) = (reply.clone(), step.clone());
    Ok(Ok(Prepared { program, task, credentials, injector, reply, step, transaction }))
}

// === impl Prepared ===

impl Prepared {
    /// Runs again in a fresh sandbox while what was read proves stale before the run had an effect.
    async fn execute(&self, platform: &Platform) -> Result<Outcome, Error> {
        loop {
            let ran = self.attempt(platform).await;
            let refusal = self.transaction.refusal();
            if let (Some(_), Some(slot)) = (refusal, &self.reply) {
                // Whatever comes next, nothing of this attempt counts.
                slot.withdraw();
            }
            match refusal {
                None if is_late(&ran) && self.transaction.was_kept_waiting() => {
                    self.transaction.release().await;
                    return Err(SandboxError::Failed(StoreLate.into()).into());
                }
                None if ran.is_err() => self.transaction.release().await,
                None => {}
                Some(Refusal::Full { cap_bytes }) => return Ok(over_db_limit(cap_bytes)),
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

    async fn attempt(&self, platform: &Platform) -> Result<Outcome, Error> {
        let context = RunContext {
            transaction: self.transaction.clone(),
            credentials: self.credentials.clone(),
            injector: self.injector.clone(),
            reply: self.reply.clone(),
            step: self.step.clone(),
        };
        let services: Arc<dyn RunServices> = Arc::new(Services::new(platform, context));
        let priority = if self.transaction.is_waited_for() { Priority::Urgent } else { Priority::Normal };
        let running = platform.sandbox.run(&self.program, &self.task, priority, services);
        Ok(self.transaction.renewing(running).await?)
    }
}

fn is_late(ran: &Result<Outcome, Error>) -> bool {
    ran.as_ref().is_ok_and(|outcome| matches!(outcome.fault, Some(Fault::Deadline { .. })))
}

fn over_db_limit(cap_bytes: u64) -> Outcome {
    let mut outcome = Outcome::default();
    over_cap(&mut outcome, cap_bytes);
    outcome
}

fn over_reads() -> Outcome {
    let mut outcome = Outcome::default();
    fail(&mut outcome, "keys of `db` read in one run", READ_KEYS_MAXIMUM);
    outcome
}

/// A run whose state outgrew its store is rolled back; its error remains.
pub(super) fn over_cap(outcome: &mut Outcome, cap_bytes: u64) {
    let limit = usize::try_from(cap_bytes).unwrap_or(usize::MAX);
    fail(outcome, "bytes stored in one `db` or data store", limit);
}

/// As is one whose events have too many listeners for one batch.
pub(super) fn over_operations(outcome: &mut Outcome) {
    outcome.logs.clear();
    fail(outcome, "events, log lines, writes and deliveries of one run", MAX_OPERATIONS);
}

fn fail(outcome: &mut Outcome, what: &str, limit: usize) {
    outcome.fault = Some(Fault::TooMuchOutput { what: what.to_owned(), limit });
    discard(outcome);
}

/// Takes credentials out of what a run logged and threw: clients put the headers of a request into their errors.
fn conceal(outcome: &mut Outcome, injector: &Injector) {
    for line in &mut outcome.logs {
        line.message = injector.conceal(std::mem::take(&mut line.message));
    }
    if let Some(Fault::Threw(thrown)) = &mut outcome.fault {
        conceal_thrown(thrown, injector);
    }
}

fn conceal_thrown(thrown: &mut Thrown, injector: &Injector) {
    thrown.message = injector.conceal(std::mem::take(&mut thrown.message));
    thrown.stack = injector.conceal(std::mem::take(&mut thrown.stack));
    if let Some(cause) = &mut thrown.cause {
        conceal_thrown(cause, injector);
    }
}

/// Drops the run's effects; its cost, log and error remain.
pub(super) fn discard(outcome: &mut Outcome) {
    *outcome = Outcome {
        flushed: std::mem::take(&mut outcome.flushed),
        logs: std::mem::take(&mut outcome.logs),
        traffic: std::mem::take(&mut outcome.traffic),
        recording: outcome.recording.take(),
        usage: outcome.usage,
        has_replied: outcome.has_replied,
        fault: outcome.fault.take(),
        ..Outcome::default()
    };
}
