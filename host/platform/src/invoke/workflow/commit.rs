//! Commits what a run did so far: one batch, with the position it goes on from.

use domain::ids::EmitterId;
use domain::plan::Planned;
use domain::retention::RunRetention;
use domain::runs::{Facts, Recording, TriggerKind};
use store::{At, Batch, CommitError, Committed, Invalid, Lease, Op, Precondition};

use super::failure::{Failure, context, failure_event};
use super::pending::Pending;
use super::queue::{held_job, queue_counter};
use super::results::record_retention;
use super::running::{Hold, Running};
use super::sends::send_jobs;
use crate::Error;
use crate::invoke::{
    Deliveries, EXPIRED_AT_ONCE, Outgoing, Room, Sender, Waited, append_record, deliveries, expire_records,
    missing_deliveries, usage_operations,
};
use crate::numbers::{EndedRun, SUCCESS};
use crate::ports::{Fault, Outcome, Thrown};
use crate::records::workflow_run::{EndedWorkflowRun, RunState};
use crate::records::{Event, LogEntry, RunRecord, Stored, StreamEntry, Tick, WorkflowRun, names, table};
use crate::spans::RunSpan;

/// How much longer than its time a run may be on its way to a commit before another host goes on with it.
const REDO_AFTER_MS: u64 = 10_000;

/// Where in a run a commit is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    /// The run goes on in this process.
    Checkpoint,
    Paused,
    Ended,
}

// === impl Running ===

impl Running<'_> {
    pub(super) async fn commit(&mut self, mut point: Point) -> Result<(), Error> {
        let is_stored = self.stored.is_some() && self.stored_state == RunState::Executing;
        if point == Point::Checkpoint && self.pending.is_empty() && is_stored {
            self.open_barrier();
            (self.committed)();
            return Ok(());
        }
        let (mut room, mut waited) = (Room::Assumed, Waited::default());
        let planned = self.plan(point);
        loop {
            let (mut batch, state) = self.batch(point, &planned, room).await?;
            let queue = batch.preconditions.len();
            if room == Room::Assumed && batch.enqueues() {
                batch.preconditions.push(self.platform.queue_fits());
            }
            match self.platform.commit(batch).await {
                Err(CommitError::Conflict { at: At::Precondition(at) }) if at == queue => {
                    self.platform.note_full_queue(self.owner.tenant);
                    room = Room::Missing;
                }
                Err(error) if is_too_much(&error) && self.pending.has_output() => {
                    self.pending.discard();
                    if let Some(slot) = &self.reply {
                        slot.withdraw();
                    }
                    self.fail(Failure::new("", "too_much_output", error.to_string()));
                    point = Point::Ended;
                    return Box::pin(self.commit(point)).await;
                }
                // What could be seen from outside is not done again: the run waits for those that lock what it writes.
                Err(CommitError::Locked { .. }) if self.pending.wait(&mut waited).await => {}
                Ok(committed) => {
                    self.hold_is_known(point, &committed);
                    self.settled(point, state, &planned);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The job of the first checkpoint is the last that its batch queues.
    fn hold_is_known(&mut self, point: Point, committed: &Committed) {
        if point != Point::Checkpoint || self.stored.is_some() || !matches!(self.hold, Hold::Own) {
            return;
        }
        let held = self.renewed.as_mut().and_then(|renewed| renewed.held.take());
        if let (Some(held), Some(job)) = (held, committed.jobs.last()) {
            // Without a receiver it is not renewed, and another host goes on.
            let _ = held.send(*job);
        }
    }

    fn settled(&mut self, point: Point, state: RunState, planned: &[Planned]) {
        mark(&self.hold, point, state, &mut self.run);
        self.stored_state = state;
        if point == Point::Checkpoint
            && self.stored.is_none()
            && matches!(self.hold, Hold::Own)
            && self.renewed.is_none()
        {
            self.stays_until_ms = Some(self.deadline_ms);
        }
        self.stored = (point != Point::Ended).then(|| self.stored.map_or(1, |version| version + 1));
        let ids = planned.iter().filter(|planned| planned.stream != names::ERRORS);
        self.run.emit_ids.extend(ids.map(|planned| planned.event.metadata.emit_id.clone()));
        self.run.emit_ids.truncate(domain::runs::LISTED_MAXIMUM);
        let logs = std::mem::take(&mut self.pending.logs).into_iter();
        let logs: Vec<_> = logs.map(|line| LogEntry::new(self.run.id.as_str(), line)).collect();
        if self.keeps_runs() {
            self.platform.note_logs(self.run.cause.context(), self.workflow.id.as_str(), &logs);
        }
        if let (Some(slot), Some(reply)) = (&self.reply, self.pending.reply.take()) {
            slot.offer(reply);
        }
        (self.pending, self.attempts) = (Pending::default(), 0);
        self.open_barrier();
        (self.committed)();
        self.is_over = point == Point::Ended;
        if self.is_over {
            self.note_end();
        }
    }

    /// The events of the steps, and the failure of the run.
    fn plan(&self, point: Point) -> Vec<Planned> {
        let mut planned = self.pending.planned(self.platform, self.workflow, self.run.id.as_str());
        if point == Point::Ended {
            planned.extend(self.failure.as_ref().map(|failure| Planned {
                stream: names::ERRORS.to_owned(),
                event: self.failure_event(failure),
                delivery_ms: None,
            }));
        }
        planned
    }

    fn failure_event(&self, failure: &Failure) -> Event {
        let context = context(self.owner.tenant, self.workflow, &self.run);
        failure_event(self.platform, self.workflow, failure, &self.run.event, &context)
    }

    async fn batch(&self, point: Point, planned: &[Planned], room: Room) -> Result<(Batch, RunState), Error> {
        let mut batch = self.platform.batch(self.owner.tenant);
        batch.preconditions.push(self.precondition());
        batch.preconditions.extend(match &self.hold {
            Hold::Job(lease) => Some(Precondition::LeaseHeld(Lease::from(*lease))),
            Hold::Tick(lease) => Some(Precondition::LeaseHeld(Lease::from(lease.clone()))),
            Hold::Own => None,
        });
        self.add_events(planned, room, &mut batch).await?;
        for line in self.pending.logs.iter().filter(|_| self.keeps_runs()) {
            let entry = LogEntry::new(self.run.id.as_str(), line.clone());
            batch.operations.push(self.append(names::LOGS, entry.encode()?, self.platform.config.limits.logs_kept));
        }
        batch.operations.extend(self.pending.writes.iter().cloned());
        batch.operations.extend(self.pending.records.iter().cloned());
        self.pending.recordings.iter().cloned().for_each(|entry| entry.append_to(&mut batch));
        if let Some(usage) = &self.pending.usage {
            // A run is one invocation, however many commits it takes.
            let is_counted = point == Point::Ended;
            batch.operations.extend(usage_operations(self.platform, self.owner, usage, is_counted));
        }
        for (_, transaction) in &self.pending.transactions {
            transaction.seal(&mut batch);
        }
        if self.run.is_counted {
            batch.operations.push(Op::Count { counter: queue_counter(&self.run), amount: -1, expires_ms: None });
        }
        let state = self.add_run(point, planned, &mut batch).await?;
        Ok((batch, state))
    }

    /// That no other host has gone on with the run, and that it was not cancelled.
    fn precondition(&self) -> Precondition {
        let (kind, id) = (WorkflowRun::KIND.to_owned(), self.run.id.to_string());
        match self.stored {
            Some(version) => Precondition::RecordVersion { kind, id, version },
            None => Precondition::RecordAbsent { kind, id },
        }
    }

    async fn add_run(&self, point: Point, planned: &[Planned], batch: &mut Batch) -> Result<RunState, Error> {
        let state = match point {
            Point::Checkpoint => RunState::Executing,
            Point::Paused => RunState::Paused,
            Point::Ended => self.end_state().0,
        };
        if point == Point::Ended {
            if self.stored.is_some() {
                batch.operations.push(table::delete(&self.run));
            }
            self.add_records(state, planned, batch).await?;
        } else {
            let mut run = self.run.clone();
            mark(&self.hold, point, state, &mut run);
            batch.operations.push(table::put(&run)?);
        }
        self.add_hold(point, batch)?;
        Ok(state)
    }

    /// What goes on with the run, or no longer does.
    fn add_hold(&self, point: Point, batch: &mut Batch) -> Result<(), Error> {
        let due_ms = self.run.position.due_ms(&self.version.document);
        let timer = names::run_timer(&self.run.id);
        match (point, &self.hold) {
            (Point::Checkpoint, Hold::Own) if self.stored.is_none() => {
                // Should this host die, another goes on: at the next start of an embedded store at once, where hosts share a
                // store when the hold is not renewed, and otherwise when the run can no longer be at work here: a step that
                // waited for its keys until the deadline may take as long again.
                let held_until_ms = match &self.renewed {
                    Some(renewed) => self.platform.clock.now_ms().saturating_add(renewed.lease_ms),
                    None => self.deadline_ms.saturating_add(self.version.timeout_ms()).saturating_add(REDO_AFTER_MS),
                };
                batch.operations.push(held_job(self.platform, &self.run, held_until_ms)?);
            }
            (Point::Checkpoint, _) => {}
            (Point::Paused, Hold::Tick(lease)) => {
                batch.operations.push(Op::FinishTick { lease: lease.clone(), next_due_ms: due_ms });
            }
            (Point::Paused, hold) => {
                if let Hold::Job(lease) = hold {
                    batch.operations.push(Op::Acknowledge(*lease));
                }
                if let Some(due_ms) = due_ms {
                    let schedule = Tick::Run { run: self.run.id.clone() }.encode()?;
                    batch.operations.push(Op::SetTimer { timer, due_ms, schedule });
                }
            }
            (Point::Ended, Hold::Job(lease)) => batch.operations.push(Op::Acknowledge(*lease)),
            (Point::Ended, Hold::Tick(lease)) => {
                batch.operations.push(Op::FinishTick { lease: lease.clone(), next_due_ms: None });
            }
            (Point::Ended, Hold::Own) => {}
        }
        Ok(())
    }

    async fn add_events(&self, planned: &[Planned], room: Room, batch: &mut Batch) -> Result<(), Error> {
        let (platform, tenant) = (self.platform, self.owner.tenant);
        let keep = platform.config.limits.events_kept;
        for Planned { stream, event, .. } in planned {
            batch.operations.push(self.append(stream, event.encode()?, keep));
        }
        let unsent = if room == Room::Missing { self.pending.sends.len() } else { 0 };
        if room != Room::Missing {
            batch.operations.extend(send_jobs(platform, self.workflow, &self.pending.sends, batch.now_ms)?);
        }
        let unsent = (unsent > 0).then(|| missing_deliveries(unsent, room));
        let mut dropped = None;
        if !planned.is_empty() {
            let subscriptions = platform.listeners().of(&*platform.store, tenant).await?;
            let emitter = EmitterId::Workflow(self.workflow.id.clone());
            let sender = Sender { emitter: &emitter, now_ms: batch.now_ms, cause: self.run.cause.deeper() };
            let outgoing = planned.iter().enumerate().map(|(index, Planned { stream, event, delivery_ms })| Outgoing {
                index,
                stream,
                event,
                delivery_ms: *delivery_ms,
            });
            let made = deliveries(&subscriptions, &sender, room, outgoing)?;
            let Deliveries { operations, dropped: missing } = made;
            batch.operations.extend(operations);
            dropped = missing;
        }
        for message in dropped.into_iter().chain(unsent) {
            let event = self.failure_event(&Failure::new("", "fan_out", message));
            batch.operations.push(self.append(names::ERRORS, event.encode()?, keep));
        }
        Ok(())
    }

    fn append(&self, stream: &str, value: bytes::Bytes, keep: usize) -> Op {
        let keep = u32::try_from(keep).unwrap_or(u32::MAX);
        Op::Append { emitter: self.workflow.id.to_string(), stream: stream.to_owned(), value, keep }
    }

    /// What is kept of a run that has ended.
    async fn add_records(&self, state: RunState, planned: &[Planned], batch: &mut Batch) -> Result<(), Error> {
        let (platform, run) = (self.platform, &self.run);
        if !self.keeps_runs() {
            return Ok(());
        }
        let retention = record_retention(platform);
        batch.operations.extend(append_record(platform, retention, &self.run_record(planned))?);
        let id = self.workflow.id.as_str();
        let at_once = EXPIRED_AT_ONCE * u32::try_from(run.steps.len() + 1).unwrap_or(EXPIRED_AT_ONCE);
        batch.operations.extend(expire_records(platform, self.owner.tenant, id, retention, at_once.min(100)).await?);
        let ended = EndedWorkflowRun {
            exit_reason: self.end_state().1,
            ..EndedWorkflowRun::of(run, state, batch.now_ms, self.error().cloned())
        };
        let keep = RunRetention::default().kept(platform.config.limits.runs_kept);
        if keep > 0 {
            batch.operations.push(self.append(names::WORKFLOW_RUNS, ended.encode()?, keep as usize));
        }
        Ok(())
    }

    fn run_record(&self, planned: &[Planned]) -> RunRecord {
        let fault = self.failure.as_ref().map(|failure| {
            let error = &failure.error;
            let message = format!("step {}: {}", failure.step, error.message);
            let (name, stack) = (error.code.clone(), error.stack.clone());
            Fault::Threw(Thrown { name, message, stack, ..Thrown::default() })
        });
        let facts = Facts {
            id: self.run.id.clone(),
            emitter_id: self.workflow.id.as_str(),
            version: &self.workflow.deployment_id(self.run.version),
            trigger: self.run.trigger.clone(),
            trace_id: self.run.cause.trace_id,
            queued_at_ms: self.run.queued_at_ms,
            ended_at_ms: self.platform.clock.now_ms(),
            reply_status: self.reply_status(),
            recording: Recording::None,
        };
        let emitted = planned.iter().filter(|planned| planned.stream != names::ERRORS);
        let emitted = emitted.map(|planned| planned.event.metadata.emit_id.clone());
        let emit_ids: Vec<String> = self.run.emit_ids.iter().cloned().chain(emitted).collect();
        let outcome = Outcome { usage: self.run.used.usage(), fault, ..Outcome::default() };
        RunRecord::new(facts, &outcome, emit_ids.into_iter())
    }

    /// Of what the client got, or gets with this commit.
    fn reply_status(&self) -> Option<u16> {
        let answered = self.reply.as_ref()?.status();
        answered.or_else(|| self.pending.reply.as_ref().map(|reply| reply.status))
    }

    fn note_end(&self) {
        let platform = self.platform;
        let (now_ms, executed_us) = (platform.clock.now_ms(), platform.clock.now_us());
        let (run_id, emitter_id) = (self.run.id.as_str(), self.workflow.id.as_str());
        let span = RunSpan { cause: self.run.cause, parent: self.run.cause.span_id, run_id, emitter_id, executed_us };
        let kind: TriggerKind = self.run.trigger.kind;
        let ended = EndedRun {
            trigger: kind,
            outcome: self.failure.as_ref().map_or(SUCCESS, |failure| failure.error.code.as_str()),
            queued_at_ms: self.run.queued_at_ms,
            ended_at_ms: now_ms,
            usage: self.run.used.usage(),
            events: self.run.emit_ids.len(),
        };
        platform.note_run(&span, &ended);
    }
}

/// What a commit makes of the record besides its position.
fn mark(hold: &Hold, point: Point, state: RunState, run: &mut WorkflowRun) {
    (run.state, run.is_counted) = (state, false);
    run.is_ticked = point == Point::Checkpoint && matches!(hold, Hold::Tick(_));
    run.segment += u32::from(point == Point::Paused);
}

/// The fault of the run, not of the host.
fn is_too_much(error: &CommitError) -> bool {
    matches!(error, CommitError::OverCap { .. } | CommitError::Invalid(Invalid::TooManyOperations { .. }))
}
