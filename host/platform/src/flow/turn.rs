//! One run and its commit: the transaction everything else is built from.
//!
//! A commit can lose against another run of the same source in two ways. What the source remembers for deduplication is
//! judged anew against the state that won, without running again. Values of `db` that were read and have changed make
//! the run itself wrong: it is executed again, see `transaction.rs`.

use std::collections::HashSet;
use std::sync::Arc;

use domain::dedupe::DedupeState;
use domain::fan_out::Cause;
use domain::ids::EmitterId;
use domain::json::Json;
use domain::users::{Plan as UserPlan, day_start_ms};
use serde_json::Value;
use serde_json::value::RawValue;
use store::{At, Batch, CommitError, Committed, EntryId, Invalid, Lookup, Op, Precondition, Tenant};

use super::instance::Instance;
use super::invocation::{Invocation, discard, over_cap, over_operations};
use super::plan::{About, Dedupe, Plan};
use super::reply::ReplySlot;
use super::routes::{Deliveries, Outgoing, Routes, Sender, deliveries};
use super::services::write_operations;
use super::transaction::{Terms, Transaction, Waited, new_run_id};
use crate::ports::{Call, Emit, Fault, Outcome, RunLimits, Task, Usage, Write};
use crate::records::{Event, LogEntry, Source, Stored, names, shelf};
use crate::{Error, Platform};

/// Maximum attempts on conflicts about what a source remembers for deduplication: each lets one run through.
const COMMIT_TRIES: usize = 64;

/// Who pays.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    pub tenant: &'a Tenant,
    pub plan: &'a UserPlan,
}

pub struct Turn<'a> {
    pub owner: Owner<'a>,
    pub source: &'a Source,
    pub call: Call,
    pub limits: RunLimits,
    /// Where `respond` is waited for, when the trigger was a request.
    pub(crate) reply: Option<Arc<ReplySlot>>,
    /// What happens in the same batch, such as the acknowledgement of the trigger.
    pub operations: Vec<Op>,
}

/// A turn that was committed.
#[derive(Debug)]
pub struct Ran {
    pub run_id: String,
    pub emitted: Vec<Emitted>,
    pub logs: Vec<LogEntry>,
    pub returned: Option<Box<RawValue>>,
    pub usage: Usage,
    pub has_replied: bool,
    pub fault: Option<Fault>,
}

#[derive(Clone, Debug)]
pub struct Emitted {
    pub id: EntryId,
    pub stream: String,
    pub event: Event,
}

/// A run that ended, and is not committed yet.
pub(super) struct Executed {
    transaction: Arc<Transaction>,
    outcome: Outcome,
}

/// Why a run could not be committed as it is.
enum Unsettled {
    /// Values that it read have changed.
    Stale,
    Failed(Error),
}

impl<Failure: Into<Error>> From<Failure> for Unsettled {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.into())
    }
}

/// What a turn is part of.
pub(super) struct Frame<'a> {
    pub(super) routes: &'a Routes,
    pub(super) cause: Cause,
    /// Without these nothing of the run counts.
    pub(super) preconditions: Vec<Precondition>,
    /// What happens in the same batch.
    pub(super) operations: Vec<Op>,
}

/// Runs the component and commits everything it did.
pub async fn take_turn(platform: &Platform, mut turn: Turn<'_>) -> Result<Ran, Error> {
    let operations = std::mem::take(&mut turn.operations);
    let executed = execute(platform, &turn, turn.transaction(platform)).await?;
    let cause = Cause::outside(platform.config.limits.deliveries_per_trigger);
    let frame = Frame { routes: &Routes::default(), cause, preconditions: Vec::new(), operations };
    settle(platform, &turn, executed, frame).await
}

/// The first half of a turn: nothing is committed but what the component flushed.
pub(super) async fn execute(
    platform: &Platform,
    turn: &Turn<'_>,
    transaction: Arc<Transaction>,
) -> Result<Executed, Error> {
    let description = &turn.source.revision.description;
    let mut outcome = match &turn.call {
        // Design: "a source without `run` but with a timer emits the tick itself".
        Call::Run { event } if !description.has_run => emit_as_it_is(event),
        _ => match prepare(platform, turn, transaction.clone()).await? {
            Ok(invocation) => invocation.execute(platform).await?,
            Err(fault) => Outcome::failed(fault),
        },
    };
    if description.is_atomic && outcome.fault.is_some() {
        discard(&mut outcome);
        if let Some(slot) = &turn.reply {
            slot.take();
        }
    }
    Ok(Executed { transaction, outcome })
}

/// The second half: everything the run did, in one batch.
pub(super) async fn settle(
    platform: &Platform,
    turn: &Turn<'_>,
    mut executed: Executed,
    frame: Frame<'_>,
) -> Result<Ran, Error> {
    loop {
        match commit_outcome(platform, turn, &mut executed, &frame).await {
            Ok((plan, committed)) => return Ok(ran(executed, plan, committed)),
            Err(Unsettled::Failed(error)) => {
                executed.transaction.release().await;
                return Err(error);
            }
            Err(Unsettled::Stale) => {
                let Executed { transaction, outcome } = executed;
                if !transaction.begin_again(&outcome.writes).await? {
                    transaction.release().await;
                    return Err(Error::Contended);
                }
                executed = execute(platform, turn, transaction).await?;
                executed.outcome.usage = executed.outcome.usage.plus(outcome.usage);
            }
        }
    }
}

fn ran(executed: Executed, plan: Plan, committed: Committed) -> Ran {
    let Executed { transaction, outcome } = executed;
    let Plan { events, logs, .. } = plan;
    let emitted = events.into_iter().zip(committed.entries);
    let emitted = emitted.map(|(planned, id)| Emitted { id, stream: planned.stream, event: planned.event }).collect();
    let Outcome { returned, usage, has_replied, fault, .. } = outcome;
    Ran { run_id: transaction.run_id().to_owned(), emitted, logs, returned, usage, has_replied, fault }
}

/// What would not fit into its store or into one batch is committed as a failure instead.
async fn commit_outcome(
    platform: &Platform,
    turn: &Turn<'_>,
    executed: &mut Executed,
    frame: &Frame<'_>,
) -> Result<(Plan, Committed), Unsettled> {
    let Executed { transaction, outcome } = executed;
    let mut waited = Waited::default();
    loop {
        match commit(platform, turn, transaction, outcome, frame).await {
            Err(Unsettled::Failed(Error::Batch(CommitError::OverCap { cap_bytes, .. }))) => {
                over_cap(outcome, cap_bytes);
            }
            Err(Unsettled::Failed(Error::Batch(CommitError::Invalid(Invalid::TooManyOperations { .. }))))
                if has_output(outcome) =>
            {
                over_operations(outcome);
            }
            Err(Unsettled::Failed(Error::Batch(CommitError::Locked { .. }))) => {
                if !transaction.wait(&outcome.writes, &mut waited).await {
                    return Err(Error::Contended.into());
                }
            }
            settled => return settled,
        }
    }
}

fn emit_as_it_is(event: &Json) -> Outcome {
    let metadata = Value::Object(serde_json::Map::new());
    Outcome { emits: vec![Emit { event: event.clone(), metadata }], ..Outcome::default() }
}

/// Ready to run, or why it cannot be.
async fn prepare(
    platform: &Platform,
    turn: &Turn<'_>,
    transaction: Arc<Transaction>,
) -> Result<Result<Invocation, Fault>, Error> {
    let (tenant, source) = (turn.owner.tenant, turn.source);
    let program = platform.programs.of_source(&*platform.store, tenant, source).await?;
    let instance = match Instance::of_source(platform, tenant, source).await? {
        Ok(instance) => instance,
        Err(fault) => return Ok(Err(fault)),
    };
    let call = turn.call.to_json(source.id.as_str(), instance.props.expose());
    let task = Task { lane: tenant.to_string(), call, limits: turn.limits };
    let credentials = Arc::new(instance.credentials);
    Ok(Ok(Invocation { program, task, credentials, reply: turn.reply.clone(), transaction }))
}

fn has_output(outcome: &Outcome) -> bool {
    !(outcome.emits.is_empty() && outcome.logs.is_empty() && outcome.writes.is_empty())
}

/// Tries again only when what the source remembers moved. Any other precondition that fails means that the run does
/// not count, or, when it was about a value, not as it is.
async fn commit(
    platform: &Platform,
    turn: &Turn<'_>,
    transaction: &Transaction,
    outcome: &Outcome,
    frame: &Frame<'_>,
) -> Result<(Plan, Committed), Unsettled> {
    let original_event = match &turn.call {
        Call::Run { event } => Some(event),
        _ => None,
    };
    let about = About { platform, source: turn.source, run_id: transaction.run_id(), original_event };
    for _ in 0..COMMIT_TRIES {
        let (state, precondition) = remembered(platform, turn).await?;
        let mut plan = Plan::new(&about, outcome, state);
        reject_channels(platform, turn, &about, &mut plan).await?;
        let mut batch = platform.batch(turn.owner.tenant);
        batch.preconditions.extend(frame.preconditions.iter().cloned());
        let dedupe = batch.preconditions.len();
        batch.preconditions.extend(precondition);
        let values = batch.preconditions.len();
        add_operations(platform, turn, &plan, outcome.writes.clone(), &mut batch)?;
        add_deliveries(platform, &about, &plan, frame, &mut batch).await?;
        batch.operations.extend_from_slice(&frame.operations);
        let counts_as_invocation = matches!(turn.call, Call::Run { .. });
        batch.operations.extend(usage_operations(platform, turn.owner, &outcome.usage, counts_as_invocation));
        transaction.seal(&mut batch);
        match platform.store.commit(batch).await {
            Ok(committed) => return Ok((plan, committed)),
            Err(CommitError::Conflict { at: At::Precondition(at) }) if at >= values => return Err(Unsettled::Stale),
            Err(CommitError::Conflict { at: At::Precondition(at) }) if at >= dedupe => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Changed.into())
}

/// Rejects events on channels that would be too many for the source.
async fn reject_channels(
    platform: &Platform,
    turn: &Turn<'_>,
    about: &About<'_>,
    plan: &mut Plan,
) -> Result<(), Error> {
    let named = plan.events.iter().map(|planned| planned.stream.as_str()).filter(|name| *name != names::DEFAULT);
    let (tenant, source) = (turn.owner.tenant, turn.source.id.as_str());
    let beyond = platform.channels().beyond_limit(platform, tenant, source, named).await?;
    if beyond.is_empty() {
        return Ok(());
    }
    let beyond: HashSet<String> = beyond.into_iter().map(str::to_owned).collect();
    let limit = platform.config.limits.channels_per_source;
    plan.reject_where(
        about,
        |planned| beyond.contains(&planned.stream),
        &format!("a source has at most {limit} channels"),
    );
    Ok(())
}

/// The jobs that bring this batch's events to those who listen.
async fn add_deliveries(
    platform: &Platform,
    about: &About<'_>,
    plan: &Plan,
    frame: &Frame<'_>,
    batch: &mut Batch,
) -> Result<(), Error> {
    if plan.events.is_empty() && plan.errors.is_empty() && plan.logs.is_empty() {
        return Ok(());
    }
    let subscriptions = frame.routes.of(&*platform.store, &batch.tenant).await?;
    if subscriptions.is_empty() {
        return Ok(());
    }
    let emitter = EmitterId::Source(about.source.id.clone());
    let sender = Sender { emitter: &emitter, now_ms: batch.now_ms, cause: frame.cause };
    let logs: Vec<Event> = kept_logs(platform, plan).map(|line| about.log_event(line)).collect();
    let events = plan.events.iter().map(|planned| (planned.stream.as_str(), &planned.event, planned.delivery_ms));
    let errors = plan.errors.iter().map(|event| (names::ERRORS, event, None));
    let logs = logs.iter().map(|event| (names::LOGS, event, None));
    let outgoing = events.chain(errors).chain(logs).enumerate();
    let outgoing = outgoing.map(|(index, (stream, event, delivery_ms))| Outgoing { index, stream, event, delivery_ms });
    let Deliveries { operations, dropped } = deliveries(&subscriptions, &sender, outgoing)?;
    batch.operations.extend(operations);
    if let Some(message) = dropped {
        let report = about.report("fan_out", "Error", &message, &message);
        let keep = u32::try_from(platform.config.limits.events_kept).unwrap_or(u32::MAX);
        let (emitter, stream) = (about.source.id.to_string(), names::ERRORS.to_owned());
        batch.operations.push(Op::Append { emitter, stream, value: report.encode()?, keep });
    }
    Ok(())
}

/// Lines that would be trimmed away in the same batch are not written at all.
fn kept_logs<'a>(platform: &Platform, plan: &'a Plan) -> impl Iterator<Item = &'a LogEntry> {
    plan.logs.iter().skip(plan.logs.len().saturating_sub(platform.config.limits.logs_kept))
}

/// What the source remembers, and that it is still that when the batch is applied.
async fn remembered(platform: &Platform, turn: &Turn<'_>) -> Result<(DedupeState, Option<Precondition>), Error> {
    if turn.source.revision.description.dedupe.is_none() {
        return Ok((DedupeState::Empty, None));
    }
    let id = turn.source.id.to_string();
    let kept = shelf::find::<Dedupe>(&*platform.store, turn.owner.tenant, Lookup::Id(&id)).await?;
    Ok(match kept {
        Some(kept) => (kept.record.state.clone(), Some(shelf::unchanged(&kept))),
        None => (DedupeState::Empty, Some(Precondition::RecordAbsent { kind: Dedupe::KIND.to_owned(), id })),
    })
}

/// The emitted events come first: their ids are the first of those committed.
fn add_operations(
    platform: &Platform,
    turn: &Turn<'_>,
    plan: &Plan,
    writes: Vec<Write>,
    batch: &mut Batch,
) -> Result<(), Error> {
    let limits = &platform.config.limits;
    let emitter = turn.source.id.to_string();
    let append = |stream: String, value, keep: usize| {
        let keep = u32::try_from(keep).unwrap_or(u32::MAX);
        Op::Append { emitter: emitter.clone(), stream, value, keep }
    };
    for planned in &plan.events {
        batch.operations.push(append(planned.stream.clone(), planned.event.encode()?, limits.events_kept));
    }
    for event in &plan.errors {
        batch.operations.push(append(names::ERRORS.to_owned(), event.encode()?, limits.events_kept));
    }
    for line in kept_logs(platform, plan) {
        batch.operations.push(append(names::LOGS.to_owned(), line.encode()?, limits.logs_kept));
    }
    if let Some(state) = &plan.dedupe {
        batch.operations.push(shelf::put(&Dedupe { source: emitter.clone(), state: state.clone() })?);
    }
    batch.operations.extend(write_operations(&names::db(&turn.source.id), writes, limits.db_source_bytes));
    Ok(())
}

// === impl Turn ===

impl Turn<'_> {
    pub(super) fn transaction(&self, platform: &Platform) -> Arc<Transaction> {
        let description = &self.source.revision.description;
        Transaction::new(
            platform,
            Terms {
                run_id: new_run_id(platform),
                tenant: self.owner.tenant.clone(),
                scope: names::db(&self.source.id),
                isolation: description.isolation(),
                is_atomic: description.is_atomic,
                wall_clock: self.limits.wall_clock,
            },
        )
    }
}

/// What a run costs its owner. Counters of a day outlive it by one, for a clock that steps back.
pub(crate) fn usage_operations(
    platform: &Platform,
    owner: Owner<'_>,
    usage: &Usage,
    counts_as_invocation: bool,
) -> Vec<Op> {
    const KEPT_MS: i64 = 2 * 24 * 3600 * 1000;
    let day_ms = day_start_ms(platform.clock.instant_ms());
    let expires_ms = u64::try_from(day_ms.saturating_add(KEPT_MS)).ok();
    let count = |counter, amount: u64, expires_ms| {
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        Op::Count { counter, amount, expires_ms }
    };
    let invocations = u64::from(counts_as_invocation);
    let mut operations = vec![
        count(names::compute_of_day(day_ms), usage.compute_ms(), expires_ms),
        count(names::invocations_of_day(day_ms), invocations, expires_ms),
    ];
    if let UserPlan::Paid { period_start_ms, .. } = owner.plan {
        operations.push(count(names::invocations_of_period(*period_start_ms), invocations, None));
    }
    operations
}
