//! Commits what a run did: one batch with its events, state, log, usage and the jobs that deliver it.
//!
//! A commit can lose against another run of the same source in two ways. When the state for deduplication has changed, the
//! emits are judged again against the new state, without another run. When values of `db` that the run has read have
//! changed, the run itself is wrong: it is executed again, see `transaction.rs`.

use std::collections::HashSet;

use async_recursion::async_recursion as boxed;
use domain::fan_out::Cause;
use domain::ids::{EmitId, EmitterId, RunId};
use domain::plan::{Context, Plan};
use domain::trace::TraceContext;
use store::{At, Batch, CommitError, Committed, EntryId, Invalid, Op, Precondition};

use super::dedupe::Dedupe;
use super::execute::{Executed, execute, over_cap, over_operations};
use super::listeners::{Deliveries, Outgoing, Room, Sender, deliveries};
use super::record::{EXPIRED_AT_ONCE, expire_records, record_operation};
use super::recording::{self, Keeping, Recorder};
use super::transaction::{Transaction, Waited};
use super::usage::usage_operations;
use super::{Invocation, Values};
use crate::numbers::{EndedRun, SUCCESS};
use crate::ports::{Call, Fault, Outcome};
use crate::records::{Event, LogEntry, Source, StreamEntry, names, table};
use crate::spans::RunSpan;
use crate::{Error, Platform};

/// Maximum attempts on conflicts about the state for deduplication: each round lets at least one run through.
const COMMIT_TRIES: usize = 64;

/// A run that was committed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) run_id: RunId,
    pub(crate) emitted: Vec<Emitted>,
    pub(crate) logs: Vec<LogEntry>,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    pub(crate) id: EntryId,
    pub(crate) event: Event,
}

/// What the batch of a run contains besides its effects.
pub(crate) struct Frame {
    pub(crate) cause: Cause,
    /// Without these nothing of the run counts.
    pub(crate) preconditions: Vec<Precondition>,
    pub(crate) operations: Vec<Op>,
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

/// The whole of an invocation that nothing else is part of.
pub(crate) async fn run(platform: &Platform, invocation: &Invocation<'_>) -> Result<Ran, Error> {
    let executed = execute(platform, invocation, invocation.transaction(platform)).await?;
    settle(platform, invocation, executed, Frame::outside(platform)).await
}

/// Commits an executed run; executes it again while what it read has changed.
#[boxed]
pub(crate) async fn settle(
    platform: &Platform,
    invocation: &Invocation<'_>,
    mut executed: Executed,
    mut frame: Frame,
) -> Result<Ran, Error> {
    let parent = frame.cause.span_id;
    if let Some(span_id) = platform.span_id_of_run() {
        frame.cause.span_id = span_id;
    }
    loop {
        let executed_us = platform.clock.now_us();
        match commit_outcome(platform, invocation, &mut executed, &frame).await {
            Ok((plan, committed)) => {
                let ran = Ran::new(executed, plan, committed);
                let (run_id, emitter_id) = (ran.run_id.as_str(), invocation.target.id);
                let span = RunSpan { cause: frame.cause, parent, run_id, emitter_id, executed_us };
                platform.note_run(&span, &ran.ended(invocation, executed_us / 1000));
                platform.note_logs(frame.cause.context(), emitter_id, &ran.logs);
                return Ok(ran);
            }
            Err(Unsettled::Failed(error)) => {
                executed.transaction.release().await;
                return Err(error);
            }
            Err(Unsettled::Stale) => {
                let Executed { transaction, outcome, .. } = executed;
                if !transaction.begin_again(&outcome.writes).await? {
                    transaction.release().await;
                    return Err(Error::Contended);
                }
                executed = execute(platform, invocation, transaction).await?;
                executed.earlier = outcome.usage;
            }
        }
    }
}

/// What does not fit into its store or into one batch is committed as a failure instead.
async fn commit_outcome(
    platform: &Platform,
    invocation: &Invocation<'_>,
    executed: &mut Executed,
    frame: &Frame,
) -> Result<(Plan, Committed), Unsettled> {
    let (tenant, target) = (invocation.owner.tenant, &invocation.target);
    let recorder = Recorder { id: executed.transaction.run_id(), emitter: target.id };
    let keeping = recording::keep(platform, invocation, executed, &recorder)?;
    let expired = expire_records(platform, tenant, target.id, target.retention(), EXPIRED_AT_ONCE).await?;
    let keeping = Keeping { expired, ..keeping };
    let Executed { transaction, outcome, earlier, .. } = executed;
    outcome.usage = outcome.usage.plus(std::mem::take(earlier));
    let mut waited = Waited::default();
    loop {
        match commit(platform, invocation, (transaction, &keeping), outcome, frame).await {
            Err(Unsettled::Failed(Error::Batch(CommitError::OverCap { cap_bytes, .. }))) => {
                over_cap(outcome, cap_bytes);
                invocation.withdraw_reply();
            }
            Err(Unsettled::Failed(Error::Batch(CommitError::Invalid(Invalid::TooManyOperations { .. }))))
                if has_output(outcome) =>
            {
                over_operations(outcome);
                invocation.withdraw_reply();
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

fn has_output(outcome: &Outcome) -> bool {
    !(outcome.emits.is_empty() && outcome.logs.is_empty() && outcome.writes.is_empty())
}

/// Retries only when the state for deduplication, or the subscriptions, have changed. Any other precondition that fails means that the run does
/// not count, or, when it was about a value, not as it is.
async fn commit(
    platform: &Platform,
    invocation: &Invocation<'_>,
    (transaction, keeping): (&Transaction, &Keeping),
    outcome: &Outcome,
    frame: &Frame,
) -> Result<(Plan, Committed), Unsettled> {
    let mut room = Room::Assumed;
    for _ in 0..COMMIT_TRIES {
        let mut batch = platform.batch(invocation.owner.tenant);
        batch.preconditions.extend(frame.preconditions.iter().cloned());
        let dedupe = batch.preconditions.len();
        let plan = match &invocation.target.values {
            Values::Stored(source) => {
                add_emits(platform, invocation, source, (transaction, outcome), (frame.cause, room), &mut batch).await?
            }
            // What a run without an emitter emits goes nowhere.
            Values::Given(_) => Plan::default(),
        };
        let values = batch.preconditions.len();
        batch.operations.extend(transaction.write_operations(outcome.writes.clone()));
        batch.operations.extend(record_operation(
            platform,
            invocation,
            (transaction, keeping.state),
            (outcome, &plan),
            frame,
        )?);
        if let Some(entry) = keeping.entry.clone() {
            entry.append_to(&mut batch);
        }
        batch.operations.extend_from_slice(&keeping.expired);
        batch.operations.extend_from_slice(&frame.operations);
        let is_counted = invocation.counts_as_invocation();
        batch.operations.extend(usage_operations(platform, invocation.owner, &outcome.usage, is_counted));
        transaction.seal(&mut batch);
        let queue = batch.preconditions.len();
        if room == Room::Assumed && batch.enqueues() {
            batch.preconditions.push(platform.queue_fits());
        }
        match platform.commit(batch).await {
            Ok(committed) => return Ok((plan, committed)),
            Err(CommitError::Conflict { at: At::Precondition(at) }) if at == queue => {
                platform.note_full_queue(invocation.owner.tenant);
                room = Room::Missing;
            }
            Err(CommitError::Conflict { at: At::Precondition(at) }) if at >= values => return Err(Unsettled::Stale),
            Err(CommitError::Conflict { at: At::Precondition(at) }) if at >= dedupe => {
                platform.listeners().forget(invocation.owner.tenant);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Changed.into())
}

/// Plans what a source emitted and adds it to the batch. The events come first: their ids are the first of those
/// committed.
async fn add_emits(
    platform: &Platform,
    invocation: &Invocation<'_>,
    source: &Source,
    (transaction, outcome): (&Transaction, &Outcome),
    (cause, room): (Cause, Room),
    batch: &mut Batch,
) -> Result<Plan, Error> {
    let tenant = invocation.owner.tenant;
    let (state, precondition) = Dedupe::read(platform, tenant, source).await?;
    batch.preconditions.extend(precondition);
    let emit_id = || EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes());
    let context = Context {
        emitter_id: source.id.as_str(),
        dedupe: source.revision.description.dedupe,
        limits: &platform.config.limits,
        run_id: transaction.run_id().as_str(),
        original_event: match &invocation.call {
            Call::Run { event } => Some(event),
            _ => None,
        },
        now_ms: platform.clock.instant_ms(),
        emit_id: &emit_id,
    };
    let mut plan = Plan::new(&context, outcome, state);
    reject_channels(platform, batch, &context, &mut plan).await?;
    append(&context, &plan, batch)?;
    if let Some(state) = &plan.dedupe {
        let dedupe = Dedupe { source: source.id.to_string(), state: state.clone() };
        batch.operations.push(table::put(&dedupe)?);
    }
    let emitter = EmitterId::Source(source.id.clone());
    deliver(platform, &context, &plan, (&emitter, cause, room), batch).await?;
    Ok(plan)
}

/// Rejects events on channels beyond what a source may have.
async fn reject_channels(
    platform: &Platform,
    batch: &Batch,
    context: &Context<'_>,
    plan: &mut Plan,
) -> Result<(), Error> {
    let named = plan.events.iter().map(|planned| planned.stream.as_str()).filter(|name| *name != names::DEFAULT);
    let beyond = platform.channels().beyond_limit(platform, &batch.tenant, context.emitter_id, named).await?;
    if beyond.is_empty() {
        return Ok(());
    }
    let beyond: HashSet<String> = beyond.into_iter().map(str::to_owned).collect();
    let reason = format!("a source has at most {} channels", context.limits.channels_per_source);
    plan.reject_where(context, |planned| beyond.contains(&planned.stream), &reason);
    Ok(())
}

fn append(context: &Context<'_>, plan: &Plan, batch: &mut Batch) -> Result<(), Error> {
    let limits = context.limits;
    for planned in &plan.events {
        batch.operations.push(append_event(context, &planned.stream, &planned.event, limits.events_kept)?);
    }
    for event in &plan.errors {
        batch.operations.push(append_event(context, names::ERRORS, event, limits.events_kept)?);
    }
    for line in kept_logs(context, plan) {
        batch.operations.push(append_event(context, names::LOGS, line, limits.logs_kept)?);
    }
    Ok(())
}

fn append_event(context: &Context<'_>, stream: &str, entry: &impl StreamEntry, keep: usize) -> Result<Op, Error> {
    let keep = u32::try_from(keep).unwrap_or(u32::MAX);
    let (emitter, stream) = (context.emitter_id.to_owned(), stream.to_owned());
    Ok(Op::Append { emitter, stream, value: entry.encode()?, keep })
}

/// Lines that would be trimmed away in the same batch are not written at all.
fn kept_logs<'a>(context: &Context<'_>, plan: &'a Plan) -> impl Iterator<Item = &'a LogEntry> {
    plan.logs.iter().skip(plan.logs.len().saturating_sub(context.limits.logs_kept))
}

/// Queues a plan's deliveries, in the order in which its entries were appended.
async fn deliver(
    platform: &Platform,
    context: &Context<'_>,
    plan: &Plan,
    (emitter, cause, room): (&EmitterId, Cause, Room),
    batch: &mut Batch,
) -> Result<(), Error> {
    if plan.events.is_empty() && plan.errors.is_empty() && plan.logs.is_empty() {
        return Ok(());
    }
    let subscriptions = platform.listeners().required(&*platform.store, batch).await?;
    if subscriptions.is_empty() {
        return Ok(());
    }
    let logs: Vec<Event> = kept_logs(context, plan).map(|line| context.log_event(line)).collect();
    let events = plan.events.iter().map(|planned| (planned.stream.as_str(), &planned.event, planned.delivery_ms));
    let errors = plan.errors.iter().map(|event| (names::ERRORS, event, None));
    let logs = logs.iter().map(|event| (names::LOGS, event, None));
    let outgoing = events.chain(errors).chain(logs).enumerate();
    let outgoing = outgoing.map(|(index, (stream, event, delivery_ms))| Outgoing { index, stream, event, delivery_ms });
    let sender = Sender { emitter, now_ms: batch.now_ms, cause };
    let Deliveries { operations, dropped } = deliveries(&subscriptions, &sender, room, outgoing)?;
    batch.operations.extend(operations);
    if let Some(message) = dropped {
        let report = context.report("fan_out", "Error", &message, &message);
        batch.operations.push(append_event(context, names::ERRORS, &report, context.limits.events_kept)?);
    }
    Ok(())
}

// === impl Frame ===

impl Frame {
    pub(crate) fn new(cause: Cause) -> Self {
        Self { cause, preconditions: Vec::new(), operations: Vec::new() }
    }

    /// The same within a trace that began elsewhere.
    pub(crate) fn traced(platform: &Platform, context: TraceContext) -> Self {
        Self::new(Cause::outside(platform.config.limits.deliveries_per_trigger, context))
    }

    /// Of a run that was triggered from outside.
    pub(crate) fn outside(platform: &Platform) -> Self {
        Self::traced(platform, platform.outside_context())
    }
}

// === impl Ran ===

impl Ran {
    fn new(executed: Executed, plan: Plan, committed: Committed) -> Self {
        let Executed { transaction, outcome, .. } = executed;
        let emitted = plan.events.into_iter().zip(committed.entries);
        let emitted = emitted.map(|(planned, id)| Emitted { id, event: planned.event });
        Self { run_id: transaction.run_id().clone(), emitted: emitted.collect(), logs: plan.logs, outcome }
    }

    fn ended(&self, invocation: &Invocation<'_>, ended_at_ms: u64) -> EndedRun<'static> {
        EndedRun {
            trigger: invocation.trigger.kind,
            outcome: self.outcome.fault.as_ref().map_or(SUCCESS, Fault::code),
            queued_at_ms: invocation.queued_at_ms,
            ended_at_ms,
            usage: self.outcome.usage,
            events: self.emitted.len(),
        }
    }
}
