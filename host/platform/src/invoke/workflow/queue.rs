//! Runs that wait for their turn: a record, and a job that runs it.
//!
//! Jobs of a workflow with a `concurrency` are in as many lanes as there may be runs at once, so that the bound holds on all
//! hosts together, and one lane keeps the order of events.

use domain::fan_out::Cause;
use domain::json::Json;
use domain::runs::{RunError, Trigger};
use domain::workflow::{Position, Retention};
use store::{Enqueue, Lookup, Op, Precondition, Tenant};

use super::lanes::Place;
use super::version::Version;
use crate::invoke::new_run_id;
use crate::records::workflow_run::{RunState, Used};
use crate::records::{EndedWorkflowRun, RecordError, StreamEntry, Work, Workflow, WorkflowRun, names, table};
use crate::{Error, Platform};

/// What starts a run.
pub(crate) struct NewRun {
    pub(crate) trigger: Trigger,
    /// Of the event; the run's own when there is none.
    pub(crate) event_id: Option<String>,
    pub(crate) event: Json,
    pub(crate) cause: Cause,
    pub(crate) queued_at_ms: u64,
    pub(crate) is_replay: bool,
}

/// A job of a batch, and its place in the queue.
pub(crate) struct QueuedJob {
    pub(crate) operation: Op,
    place: Option<Place>,
}

/// The part of a batch that queues a run.
pub(crate) struct Queued {
    pub(crate) operations: Vec<Op>,
    pub(crate) job: QueuedJob,
    /// That there is room for it: without it the event is dropped, and that is told.
    pub(crate) room: Precondition,
}

// === impl NewRun ===

impl NewRun {
    pub(crate) fn into_run(self, platform: &Platform, workflow: &Workflow, version: &Version) -> WorkflowRun {
        let Self { trigger, event_id, event, cause, queued_at_ms, is_replay } = self;
        let id = new_run_id(platform, workflow.id.as_str());
        WorkflowRun {
            event_id: event_id.unwrap_or_else(|| id.to_string()),
            id,
            workflow: workflow.id.clone(),
            version: version.record.number,
            state: RunState::Executing,
            trigger,
            event,
            is_replay,
            position: Position::begin(&version.document),
            steps: Vec::new(),
            cause,
            queued_at_ms,
            started_at_ms: platform.clock.now_ms(),
            used: Used::default(),
            emit_ids: Vec::new(),
            is_counted: false,
            segment: 0,
            is_ticked: false,
        }
    }
}

/// Queues a new run.
pub(crate) fn enqueue(platform: &Platform, version: &Version, run: &mut WorkflowRun) -> Result<Queued, Error> {
    (run.state, run.is_counted) = (RunState::Queued, true);
    let counter = queue_counter(run);
    let limit = i64::try_from(version.document.settings.queue_size).unwrap_or(i64::MAX);
    let job = queue_job(platform, version, run)?;
    let operations = vec![
        table::put(run)?,
        Op::Count { counter: counter.clone(), amount: 1, expires_ms: None },
        job.operation.clone(),
    ];
    Ok(Queued { operations, job, room: Precondition::CounterBelow { counter, limit } })
}

/// The operations that end a run from outside of it: it goes no further, and is kept as one that ended, if any are.
pub(crate) async fn end_early(
    platform: &Platform,
    tenant: &Tenant,
    run: &WorkflowRun,
    (state, error): (RunState, Option<RunError>),
) -> Result<Vec<Op>, Error> {
    let mut operations = vec![table::delete(run)];
    if retention(platform, tenant, run).await? != Retention::None {
        let ended = EndedWorkflowRun::of(run, state, platform.clock.now_ms(), error);
        let keep = u32::try_from(platform.config.limits.runs_kept).unwrap_or(u32::MAX);
        let (emitter, stream) = (run.workflow.to_string(), names::WORKFLOW_RUNS.to_owned());
        operations.push(Op::Append { emitter, stream, value: ended.encode()?, keep });
    }
    if run.is_counted {
        operations.push(Op::Count { counter: queue_counter(run), amount: -1, expires_ms: None });
    }
    Ok(operations)
}

/// As the version of the run says; when that is no longer kept, the newest one.
async fn retention(platform: &Platform, tenant: &Tenant, run: &WorkflowRun) -> Result<Retention, Error> {
    let versions = platform.versions();
    let mut found = versions.find(platform, tenant, &run.workflow, run.version).await?;
    if found.is_none() {
        let workflow = table::find::<Workflow>(&*platform.store, tenant, Lookup::Id(run.workflow.as_str())).await?;
        if let Some(kept) = workflow {
            found = versions.find(platform, tenant, &run.workflow, kept.record.version).await?;
        }
    }
    Ok(found.map(|version| version.document.settings.retention).unwrap_or_default())
}

/// Counts the runs of a workflow that wait.
pub(crate) fn queue_counter(run: &WorkflowRun) -> String {
    format!("queued_runs/{}", run.workflow)
}

/// The job that goes on with a run from the queue.
pub(crate) fn queue_job(platform: &Platform, version: &Version, run: &WorkflowRun) -> Result<QueuedJob, RecordError> {
    let place = version.document.settings.concurrency.map(|concurrency| {
        let chance = u32::from_le_bytes(platform.entropy.bytes());
        platform.lanes().enter(&run.workflow, concurrency, chance)
    });
    let lane = place.as_ref().map(|place| place.lane().to_owned());
    Ok(QueuedJob { operation: run_job(platform, run, lane, None)?, place })
}

/// One that is a safeguard: the host that holds it does the work itself.
pub(super) fn held_job(platform: &Platform, run: &WorkflowRun, held_until_ms: u64) -> Result<Op, RecordError> {
    run_job(platform, run, None, Some(held_until_ms))
}

fn run_job(
    platform: &Platform,
    run: &WorkflowRun,
    lane: Option<String>,
    held_until_ms: Option<u64>,
) -> Result<Op, RecordError> {
    let payload = Work::Run { workflow: run.workflow.clone(), run: run.id.clone(), segment: run.segment }.encode()?;
    let due_ms = platform.clock.now_ms();
    Ok(Op::Enqueue(Enqueue { lane, due_ms, payload, entry: None, held_until_ms }))
}

// === impl QueuedJob ===

impl QueuedJob {
    /// Once it is committed: its place is given up otherwise.
    pub(crate) fn keep_place(mut self) {
        if let Some(place) = &mut self.place {
            place.take();
        }
    }
}
