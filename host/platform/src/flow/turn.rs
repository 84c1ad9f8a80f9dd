//! One run and its commit: the transaction everything else is built from.
//!
//! The sandbox is run once; only the commit is tried again when another run of the same source was faster, because
//! what the source remembers for deduplication is judged anew against the state that won.

use std::sync::Arc;

use domain::dedupe::DedupeState;
use domain::ids::EmitId;
use domain::users::{Plan as UserPlan, day_start_ms};
use serde_json::Value;
use serde_json::value::RawValue;
use store::{Batch, CommitError, Committed, EntryId, Lookup, Op, Precondition, Tenant};
use tokio::sync::oneshot;

use super::instance::Instance;
use super::plan::{About, Dedupe, Plan};
use super::services::{RunContext, Services, write_operations};
use crate::ports::{Call, Fault, Outcome, Reply, RunLimits, RunServices, Task, Usage, Write};
use crate::records::{Event, LogEntry, Source, Stored, names, shelf};
use crate::{Error, Platform};

/// Runs of one source that end in the same instant; each try lets one of them through.
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
    /// Who waits for `respond`; nobody when the trigger was no request.
    pub reply: Option<oneshot::Sender<Reply>>,
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

/// Runs the component and commits everything it did.
pub async fn take_turn(platform: &Platform, mut turn: Turn<'_>) -> Result<Ran, Error> {
    let run_id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    let original_event = match &turn.call {
        Call::Run { event } => event.clone(),
        _ => Value::Null,
    };
    let about = About { platform, source: turn.source, run_id: &run_id, original_event };
    let counts_as_invocation = matches!(turn.call, Call::Run { .. });
    let reply = turn.reply.take();
    let mut outcome = run(platform, &turn, reply).await?;
    let mut extra = turn.operations.clone();
    extra.extend(usage_operations(platform, turn.owner, &outcome.usage, counts_as_invocation));
    let (plan, committed) = loop {
        match commit(platform, &turn, &about, &outcome, &extra).await {
            Err(Error::Batch(CommitError::OverCap { cap_bytes, .. })) => over_cap(&mut outcome, cap_bytes),
            settled => break settled?,
        }
    };
    let Plan { events, logs, .. } = plan;
    let emitted = events.into_iter().zip(committed.entries);
    let emitted = emitted.map(|((stream, event), id)| Emitted { id, stream, event }).collect();
    let Outcome { returned, usage, has_replied, fault, .. } = outcome;
    Ok(Ran { run_id, emitted, logs, returned, usage, has_replied, fault })
}

async fn run(platform: &Platform, turn: &Turn<'_>, reply: Option<oneshot::Sender<Reply>>) -> Result<Outcome, Error> {
    let (tenant, source) = (turn.owner.tenant, turn.source);
    let program = platform.programs.of_source(&*platform.store, tenant, source).await?;
    let instance = Instance::of_source(platform, tenant, source).await?;
    let call = turn.call.to_json(source.id.as_str(), instance.props.expose());
    let scope = names::db(&source.id);
    let context = RunContext { tenant: tenant.clone(), scope, credentials: instance.credentials, reply };
    let services = Arc::new(Services::new(platform, context));
    let task = Task { lane: tenant.to_string(), call, limits: turn.limits };
    let ran = platform.sandbox.run(&program, task, services.clone() as Arc<dyn RunServices>).await;
    match ran {
        Err(_) if services.is_full() => {
            let mut outcome = Outcome::default();
            over_cap(&mut outcome, platform.config.limits.db_source_bytes as u64);
            Ok(outcome)
        }
        ran => Ok(ran?),
    }
}

/// A run that outgrew its store did not happen, but for the error.
fn over_cap(outcome: &mut Outcome, cap_bytes: u64) {
    let limit = usize::try_from(cap_bytes).unwrap_or(usize::MAX);
    let fault = Fault::TooMuchOutput { what: "bytes stored by one source".to_owned(), limit };
    let logs = std::mem::take(&mut outcome.logs);
    *outcome = Outcome {
        logs,
        usage: outcome.usage,
        has_replied: outcome.has_replied,
        fault: Some(fault),
        ..Outcome::default()
    };
}

async fn commit(
    platform: &Platform,
    turn: &Turn<'_>,
    about: &About<'_>,
    outcome: &Outcome,
    extra: &[Op],
) -> Result<(Plan, Committed), Error> {
    for _ in 0..COMMIT_TRIES {
        let (state, precondition) = remembered(platform, turn).await?;
        let plan = Plan::new(about, outcome, state);
        let mut batch = platform.batch(turn.owner.tenant);
        batch.preconditions.extend(precondition);
        add_operations(platform, turn, &plan, outcome.writes.clone(), &mut batch)?;
        batch.operations.extend_from_slice(extra);
        match platform.store.commit(batch).await {
            Ok(committed) => return Ok((plan, committed)),
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Changed)
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
    for (stream, event) in &plan.events {
        batch.operations.push(append(stream.clone(), event.encode()?, limits.events_kept));
    }
    for event in &plan.errors {
        batch.operations.push(append(names::ERRORS.to_owned(), event.encode()?, limits.events_kept));
    }
    // Lines that would be trimmed away in the same batch are not written at all.
    let skipped = plan.logs.len().saturating_sub(limits.logs_kept);
    for line in plan.logs.iter().skip(skipped) {
        batch.operations.push(append(names::LOGS.to_owned(), line.encode()?, limits.logs_kept));
    }
    if let Some(state) = &plan.dedupe {
        batch.operations.push(shelf::put(&Dedupe { source: emitter.clone(), state: state.clone() })?);
    }
    batch.operations.extend(write_operations(&names::db(&turn.source.id), writes, limits.db_source_bytes));
    Ok(())
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
