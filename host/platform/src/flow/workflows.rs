//! Runs of workflows: what starts them, and what goes on with them. `invoke/workflow` does the rest.
//!
//! An event or a tick queues a run, in the batch that ends the delivery or the tick: from then on it is not lost. A request to
//! an endpoint runs at once, because its client waits; when that takes longer it is stored as well.

mod request;

pub(super) use request::WorkflowRequest;

use domain::fan_out::{Cause, DEPTH_MAXIMUM};
use domain::ids::{RunId, WorkflowId};
use domain::json::Json;
use domain::runs::{Trigger, TriggerKind};
use domain::timers::Schedule;
use domain::workflow::Throttle;
use serde_json::json;
use store::{At, CommitError, Job, Lookup, Op, Precondition, Sharing, Tick};

use super::deliver::SwitchedOff;
use super::handle::Flow;
use super::work::{Completion, emitted_at_ms};
use crate::Error;
use crate::invoke::workflow::{
    Failure, Hold, NewRun, Running, Version, context, end_early, enqueue, failure_event, queue_job,
};
use crate::invoke::{Frame, Owner};
use crate::records::workflow_run::RunState;
use crate::records::{Delivery, Event, Kept, StreamEntry, TriggerRecordKind, Workflow, WorkflowRun, names, table};

/// A pause that ends while its run is at work looks again after this.
const AT_WORK_LOOK_MS: u64 = 1000;
/// A queued run that is at work for longer is stored as such, and no longer counts among those that wait: short ones, which
/// are most, have no commit of their own for that.
const SHOWN_AFTER_MS: u64 = 100;

// === impl Flow ===

impl Flow {
    /// An event for a workflow: the run is queued, and the delivery is done.
    pub(crate) async fn deliver_to_workflow(
        &self,
        job: &Job,
        delivery: &Delivery,
        id: &WorkflowId,
    ) -> Result<Completion, Error> {
        let Some(workflow) = self.workflow(job, id).await? else {
            return self.acknowledge(job, Vec::new()).await;
        };
        if !workflow.is_active {
            let listener = SwitchedOff { noun: "workflow", updated_at: workflow.updated_at, reason: None };
            return self.deliver_to_switched_off(job, delivery, listener).await;
        }
        let event = &delivery.event.event;
        if delivery.cause.is_loop() {
            let message = format!("sources and workflows run each other in a loop: ended after {DEPTH_MAXIMUM} runs");
            let report = self.report_of(&workflow, &Failure::new("", "loop", message), event)?;
            return self.acknowledge(job, vec![report]).await;
        }
        let new = NewRun {
            trigger: Trigger { kind: TriggerKind::Event, id: job.entry.map(|id| id.to_string()) },
            event_id: Some(delivery.event.metadata.emit_id.clone()),
            event: event.clone(),
            cause: Cause { span_id: delivery.attempt.id(), ..delivery.cause },
            queued_at_ms: emitted_at_ms(delivery, self.platform.clock.now_ms()),
            is_replay: delivery.is_replay,
        };
        self.queue_run(&job.tenant, &workflow, new, Op::Acknowledge(job.lease)).await
    }

    /// Queues a run, together with the end of what started it. An event without a place in the queue is dropped, and that is
    /// told.
    async fn queue_run(
        &self,
        tenant: &store::Tenant,
        workflow: &Workflow,
        new: NewRun,
        completion: Op,
    ) -> Result<Completion, Error> {
        let platform = &self.platform;
        let found = platform.versions().find(platform, tenant, &workflow.id, workflow.version).await?;
        let event = new.event.clone();
        let queued = match &found {
            None => Err(Failure::new("", "not_deployed", "the version of the workflow is missing")),
            Some(version) => {
                let mut run = new.into_run(platform, workflow, version);
                let queued = enqueue(platform, version, &mut run)?;
                let mut batch = platform.batch(tenant).require(queued.room).then(completion.clone());
                batch.operations.extend(queued.operations);
                match platform.commit(batch).await {
                    Ok(_) => {
                        queued.job.keep_place();
                        Ok(())
                    }
                    Err(CommitError::Conflict { at: At::Precondition(0) }) => {
                        Err(queue_is_full(version.document.settings.queue_size))
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if let Err(failure) = queued {
            let report = self.report_of(workflow, &failure, &event)?;
            platform.commit(platform.batch(tenant).then(report).then(completion)).await?;
        }
        Ok(Completion::Committed)
    }

    /// A job that goes on with a run: one that was queued or resumed, or whose host died.
    pub(crate) async fn run_workflow(
        &self,
        job: &Job,
        id: &WorkflowId,
        run: (&RunId, u32),
    ) -> Result<Completion, Error> {
        let ended = self.go_on_with(job, id, run).await;
        let is_counted = self.platform.store.sharing() == Sharing::Alone;
        if let (Some(lane), Ok(Completion::Committed), true) = (&job.lane, &ended, is_counted) {
            self.platform.lanes().leave(lane);
        }
        ended
    }

    async fn go_on_with(&self, job: &Job, id: &WorkflowId, (run, segment): (&RunId, u32)) -> Result<Completion, Error> {
        let stored = self.stored_run(&job.tenant, run).await?;
        let Some(kept) = stored.filter(|kept| kept.record.segment == segment) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let Some(workflow) = self.workflow(job, id).await? else {
            return self.acknowledge(job, vec![table::delete(&kept.record)]).await;
        };
        let found = self.platform.versions().find(&self.platform, &job.tenant, id, kept.record.version).await?;
        let Some(version) = found else {
            return self.end_without_version(&job.tenant, &workflow, &kept, Op::Acknowledge(job.lease)).await;
        };
        let document = &version.document;
        let has_work =
            kept.record.position.ended(document).is_some() || !kept.record.position.ready(document).is_empty();
        if !has_work {
            return self.acknowledge(job, Vec::new()).await;
        }
        if let Some(until_ms) = self.throttled(&job.tenant, &kept.record, &version).await? {
            return Ok(Completion::Released { until_ms });
        }
        self.drive(&job.tenant, (&workflow, &version), kept, Hold::Job(job.lease)).await
    }

    /// A run that paused for longer than its version is kept cannot go on: it ends with an error, and that is told.
    async fn end_without_version(
        &self,
        tenant: &store::Tenant,
        workflow: &Workflow,
        kept: &Kept<WorkflowRun>,
        completion: Op,
    ) -> Result<Completion, Error> {
        let run = &kept.record;
        let message =
            format!("version {} of the workflow is no longer kept: replay the run on the newest", run.version);
        let failure = Failure::new("", "version_gone", message);
        let context = context(tenant, workflow, run);
        let event = failure_event(&self.platform, workflow, &failure, &run.event, &context);
        let batch = self.platform.batch(tenant).require(table::unchanged(kept));
        let mut batch = batch.then(self.append_error(workflow, &event)?).then(completion);
        let ended = end_early(&self.platform, tenant, run, (RunState::Error, Some(*failure.error))).await?;
        batch.operations.extend(ended);
        self.platform.commit(batch).await?;
        Ok(Completion::Committed)
    }

    async fn drive(
        &self,
        tenant: &store::Tenant,
        (workflow, version): (&Workflow, &Version),
        mut kept: Kept<WorkflowRun>,
        hold: Hold,
    ) -> Result<Completion, Error> {
        let admission = match self.platform.quotas().admit(&self.platform, tenant).await {
            Err(Error::Quota(quota)) => return Ok(self.wait_for_quota(&quota)),
            Err(Error::NoRoom { .. }) => return Ok(self.wait_for_room()),
            admitted => admitted?,
        };
        let owner = Owner::admitted(tenant, &admission);
        let now_ms = self.platform.clock.now_ms();
        if kept.record.is_counted {
            kept.record.started_at_ms = now_ms;
        }
        let mut running =
            Running::new((&self.platform, owner), (workflow, version), kept.record, (Some(kept.version), hold));
        running.accept_at_ms = Some(now_ms.saturating_add(SHOWN_AFTER_MS));
        running.drive().await?;
        // A run is one invocation, which is counted when it ends.
        if running.has_ended() {
            admission.use_up();
        }
        Ok(Completion::Committed)
    }

    /// A tick of a workflow's timer.
    pub(super) async fn tick_workflow(&self, tick: &Tick, id: &WorkflowId, trigger: &str) -> Result<Completion, Error> {
        let found = table::find::<Workflow>(&*self.platform.store, &tick.tenant, Lookup::Id(id.as_str())).await?;
        let Some(workflow) = found.map(|kept| kept.record).filter(|workflow| workflow.is_active) else {
            return self.end_timer(tick).await;
        };
        let schedule = workflow.triggers.iter().find(|one| one.id == trigger).and_then(|one| match &one.kind {
            TriggerRecordKind::Timer { schedule } => Schedule::parse(schedule, 0).ok(),
            _ => None,
        });
        let Some(schedule) = schedule else { return self.end_timer(tick).await };
        let now_ms = self.platform.clock.instant_ms();
        let due_ms = i64::try_from(tick.due_ms).unwrap_or(i64::MAX);
        let next_due_ms = schedule.following(due_ms, now_ms).and_then(|at_ms| u64::try_from(at_ms).ok());
        let new = NewRun {
            trigger: Trigger { kind: TriggerKind::Timer, id: Some(trigger.to_owned()) },
            event_id: None,
            event: schedule.event(now_ms).into(),
            cause: Frame::outside(&self.platform).cause,
            queued_at_ms: tick.due_ms,
            is_replay: false,
        };
        self.queue_run(&tick.tenant, &workflow, new, Op::FinishTick { lease: tick.lease.clone(), next_due_ms }).await
    }

    /// A run whose pause is over.
    pub(super) async fn wake_run(&self, tick: &Tick, run: &RunId) -> Result<Completion, Error> {
        let Some(mut kept) = self.stored_run(&tick.tenant, run).await? else {
            return self.end_timer(tick).await;
        };
        // Resumed by its URL: what goes on with it also sees to its other pauses.
        if kept.record.state != RunState::Paused && !kept.record.is_ticked {
            let until_ms = self.platform.clock.now_ms().saturating_add(AT_WORK_LOOK_MS);
            return Ok(Completion::Released { until_ms });
        }
        let id = kept.record.workflow.clone();
        let workflow = table::find::<Workflow>(&*self.platform.store, &tick.tenant, Lookup::Id(id.as_str())).await?;
        let Some(workflow) = workflow else { return self.end_timer(tick).await };
        let found = self.platform.versions().find(&self.platform, &tick.tenant, &id, kept.record.version).await?;
        let Some(version) = found else {
            let finish = Op::FinishTick { lease: tick.lease.clone(), next_due_ms: None };
            return self.end_without_version(&tick.tenant, &workflow.record, &kept, finish).await;
        };
        kept.record.position.wake(&version.document, self.platform.clock.now_ms());
        let position = &kept.record.position;
        let is_over = position.ended(&version.document).is_some();
        if !is_over && position.ready(&version.document).is_empty() {
            let next_due_ms = position.due_ms(&version.document);
            let finish = Op::FinishTick { lease: tick.lease.clone(), next_due_ms };
            self.platform.store.commit(self.platform.batch(&tick.tenant).then(finish)).await?;
            return Ok(Completion::Committed);
        }
        if version.document.settings.queues() {
            let unchanged = table::unchanged(&kept);
            let run = WorkflowRun { state: RunState::Queued, ..kept.record };
            let finish =
                Op::FinishTick { lease: tick.lease.clone(), next_due_ms: run.position.due_ms(&version.document) };
            let batch = self.platform.batch(&tick.tenant).require(unchanged).then(table::put(&run)?).then(finish);
            let job = queue_job(&self.platform, &version, &run)?;
            self.platform.commit(batch.then(job.operation.clone())).await?;
            job.keep_place();
            return Ok(Completion::Committed);
        }
        self.drive(&tick.tenant, (&workflow.record, &version), kept, Hold::Tick(tick.lease.clone())).await
    }

    /// When a run that was queued may begin, if not now: so many of them begin in a window of time, on all hosts together.
    async fn throttled(
        &self,
        tenant: &store::Tenant,
        run: &WorkflowRun,
        version: &Version,
    ) -> Result<Option<u64>, Error> {
        let Some(Throttle { limit, interval_seconds }) = version.document.settings.throttle.filter(|_| run.is_counted)
        else {
            return Ok(None);
        };
        let (now_ms, interval_ms) = (self.platform.clock.now_ms(), u64::from(interval_seconds).max(1) * 1000);
        let window = now_ms / interval_ms;
        let next_ms = (window + 1) * interval_ms;
        let counter = names::throttle(&run.workflow, window);
        let below = Precondition::CounterBelow { counter: counter.clone(), limit: i64::from(limit) };
        let count = Op::Count { counter, amount: 1, expires_ms: Some(next_ms + interval_ms) };
        match self.platform.store.commit(self.platform.batch(tenant).require(below).then(count)).await {
            Ok(_) => Ok(None),
            Err(CommitError::Conflict { .. }) => Ok(Some(next_ms)),
            Err(error) => Err(error.into()),
        }
    }

    async fn workflow(&self, job: &Job, id: &WorkflowId) -> Result<Option<Workflow>, Error> {
        let found = table::find::<Workflow>(&*self.platform.store, &job.tenant, Lookup::Id(id.as_str())).await?;
        Ok(found.map(|kept| kept.record))
    }

    async fn stored_run(&self, tenant: &store::Tenant, id: &RunId) -> Result<Option<Kept<WorkflowRun>>, Error> {
        Ok(table::find::<WorkflowRun>(&*self.platform.store, tenant, Lookup::Id(id.as_str())).await?)
    }

    /// The operation that puts a failure without a run into the workflow's `$errors`.
    fn report_of(&self, workflow: &Workflow, failure: &Failure, event: &Json) -> Result<Op, Error> {
        let context = json!({"workflow_id": workflow.id, "deployment_id": workflow.deployment_id(workflow.version)});
        self.append_error(workflow, &failure_event(&self.platform, workflow, failure, event, &context.into()))
    }

    fn append_error(&self, workflow: &Workflow, event: &Event) -> Result<Op, Error> {
        let value = event.encode()?;
        let keep = u32::try_from(self.platform.config.limits.events_kept).unwrap_or(u32::MAX);
        let (emitter, stream) = (workflow.id.to_string(), names::ERRORS.to_owned());
        Ok(Op::Append { emitter, stream, value, keep })
    }
}

/// An event without a place in the queue is dropped.
fn queue_is_full(size: u64) -> Failure {
    Failure::new("", "queue_full", format!("the event was dropped: {size} runs wait already (queue_size)"))
}
