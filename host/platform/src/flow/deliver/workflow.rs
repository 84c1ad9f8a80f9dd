//! Workflows that listen: their steps run one after the other, each an action in a sandbox of its own, and everything
//! they did is one batch. A step that fails ends the run; its error is an event of `$errors`.

use std::sync::Arc;

use domain::actions::{Effect, HttpSend};
use domain::emit::{Channel, Emit};
use domain::fan_out::DEPTH_MAXIMUM;
use domain::ids::{EmitId, EmitterId, RunId, WorkflowId};
use domain::json::Json;
use domain::plan::{Planned, iso_8601};
use domain::retention::RunRetention;
use domain::runs::{Facts, Trigger, TriggerKind};
use domain::users::Plan;
use serde_json::{Map, Value, json};
use store::{At, Batch, CommitError, Invalid, Job, Lookup, Op, Tenant};

use super::send::enqueue;
use crate::flow::handle::Flow;
use crate::flow::work::{Completion, emitted_at_ms};
use crate::invoke::{
    Deliveries, Executed, Invocation, Keeping, Outgoing, Owner, Room, Sender, Target, Transaction, append_record,
    deliveries, execute, expire_records, keep_recording, missing_deliveries, new_run_id, usage_operations,
    write_operations,
};
use crate::numbers::{EndedRun, SUCCESS};
use crate::ports::{Call, Fault, Outcome, RunLimits, Thrown, Usage};
use crate::records::workflow::TRIGGER;
use crate::records::{Delivery, Event, Metadata, RunRecord, Step, StreamEntry, Workflow, names, table};
use crate::spans::RunSpan;
use crate::{Error, Platform, effects, sealed_props};

/// How a run went so far.
#[derive(Default)]
struct WorkflowRun {
    /// What `steps` is for the next step.
    steps: Map<String, Value>,
    emits: Vec<Emit>,
    sends: Vec<(String, HttpSend)>,
    writes: Vec<Op>,
    /// Of the steps so far: what they read must hold when the run is committed.
    transactions: Vec<Arc<Transaction>>,
    usage: Usage,
    has_ended: bool,
    failure: Option<Failure>,
    /// Of the step that failed: a run is replayed from there.
    recording: Keeping,
    id: Option<RunId>,
}

/// Why a run ended early.
pub(crate) struct Failure {
    pub(crate) step: String,
    pub(crate) code: String,
    pub(crate) stack: String,
}

// === impl Flow ===

impl Flow {
    pub(crate) async fn deliver_to_workflow(
        &self,
        job: &Job,
        delivery: &Delivery,
        id: &WorkflowId,
    ) -> Result<Completion, Error> {
        let found = table::find::<Workflow>(&*self.platform.store, &job.tenant, Lookup::Id(id.as_str())).await?;
        let Some(workflow) = found.map(|kept| kept.record).filter(|workflow| workflow.is_active) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let plan = match self.quota.check(&self.platform, &job.tenant).await {
            Err(Error::Quota(quota)) => return Ok(self.wait_for_quota(&quota)),
            Err(Error::NoRoom { .. }) => return Ok(self.wait_for_room()),
            checked => checked?,
        };
        let mut run = if delivery.cause.is_loop() {
            let stack = format!("sources and workflows run each other in a loop: ended after {DEPTH_MAXIMUM} runs");
            WorkflowRun { failure: Some(Failure::new("", "loop", stack)), ..WorkflowRun::default() }
        } else {
            self.run_steps(Owner { tenant: &job.tenant, plan: &plan }, &workflow, &delivery.event.event).await?
        };
        let mut room = Room::Assumed;
        loop {
            let mut batch = self.workflow_batch((job, delivery), &workflow, &plan, &run, room).await?;
            let queue = batch.preconditions.len();
            if room == Room::Assumed && batch.enqueues() {
                batch.preconditions.push(self.platform.queue_fits());
            }
            match self.platform.commit(batch).await {
                Err(CommitError::Conflict { at: At::Precondition(at) }) if at == queue => {
                    self.platform.note_full_queue(&job.tenant);
                    room = Room::Missing;
                }
                Err(error) if is_too_much(&error) && run.has_output() => run.fail_too_much(&error),
                Ok(_) => break,
                // Values that a step read have changed: the job is done again, as after a crash.
                Err(error) => {
                    run.release().await;
                    return Err(error.into());
                }
            }
        }
        self.quota.add(&self.platform, &job.tenant, &run.usage);
        self.platform.note_run(&run.span(delivery, &workflow, &self.platform), &run.ended(delivery, &self.platform));
        Ok(Completion::Committed)
    }

    async fn run_steps(&self, owner: Owner<'_>, workflow: &Workflow, event: &Json) -> Result<WorkflowRun, Error> {
        let (platform, id) = (&self.platform, workflow.id.as_str());
        let mut secrets = sealed_props::open(platform, owner.tenant, id, workflow.secrets.as_ref())?;
        let (run_id, mut run) = (new_run_id(platform, id), WorkflowRun::default());
        run.id = Some(run_id.clone());
        run.steps.insert(TRIGGER.to_owned(), json!({"event": event}));
        for step in &workflow.steps {
            let mut props = step.props.clone();
            if let Some(Value::Object(secret)) = secrets.remove(&step.name) {
                props.extend(secret);
            }
            let invocation = Invocation {
                owner,
                target: Target::of_step(workflow, step, props),
                call: Call::Action { steps: Value::Object(run.steps.clone()) },
                limits: RunLimits::background(&platform.config.limits),
                trigger: Trigger::of(TriggerKind::Event),
                queued_at_ms: platform.clock.now_ms(),
                reply: None,
            };
            let transaction = invocation.transaction_of(platform, run_id.clone());
            let executed = execute(platform, &invocation, transaction).await?;
            run.recording = keep_recording(platform, &invocation, &executed)?;
            run.take(step, executed, platform);
            if run.has_ended || run.failure.is_some() {
                break;
            }
        }
        Ok(run)
    }

    /// Everything a run did, and the end of the job it was done for.
    async fn workflow_batch(
        &self,
        (job, delivery): (&Job, &Delivery),
        workflow: &Workflow,
        plan: &Plan,
        run: &WorkflowRun,
        room: Room,
    ) -> Result<Batch, Error> {
        let platform = &self.platform;
        let mut batch = platform.batch(&job.tenant);
        let planned = run.planned(platform, &job.tenant, workflow, &delivery.event.event);
        let keep = u32::try_from(platform.config.limits.events_kept).unwrap_or(u32::MAX);
        for Planned { stream, event, .. } in &planned {
            let (emitter, stream) = (workflow.id.to_string(), stream.clone());
            batch.operations.push(Op::Append { emitter, stream, value: event.encode()?, keep });
        }
        let subscriptions = platform.listeners().of(&*platform.store, &job.tenant).await?;
        let emitter = EmitterId::Workflow(workflow.id.clone());
        let sender = Sender { emitter: &emitter, now_ms: batch.now_ms, cause: delivery.cause.deeper() };
        let outgoing = planned.iter().enumerate().map(|(index, Planned { stream, event, delivery_ms })| Outgoing {
            index,
            stream,
            event,
            delivery_ms: *delivery_ms,
        });
        let Deliveries { operations, dropped } = deliveries(&subscriptions, &sender, room, outgoing)?;
        batch.operations.extend(operations);
        let sends: &[_] = if room == Room::Missing { &[] } else { &run.sends };
        let unsent = run.sends.len() - sends.len();
        let unsent = (unsent > 0).then(|| missing_deliveries(unsent, room));
        for message in dropped.into_iter().chain(unsent) {
            let failure = Failure::new("", "fan_out", message);
            let event = failure_event(platform, &job.tenant, workflow, &failure, &delivery.event.event);
            let (emitter, stream) = (workflow.id.to_string(), names::ERRORS.to_owned());
            batch.operations.push(Op::Append { emitter, stream, value: event.encode()?, keep });
        }
        for (step, send) in sends {
            batch.operations.push(enqueue(workflow, step, send.clone(), batch.now_ms)?);
        }
        batch.operations.extend_from_slice(&run.writes);
        let (record, retention) = (run.record(job, delivery, workflow, platform, &planned), RunRetention::default());
        batch.operations.extend(append_record(platform, retention, &record)?);
        batch.operations.extend(run.recording.operation.clone());
        batch.operations.extend(expire_records(platform, &job.tenant, workflow.id.as_str(), retention).await?);
        let owner = Owner { tenant: &job.tenant, plan };
        batch.operations.extend(usage_operations(platform, owner, &run.usage, true));
        for transaction in &run.transactions {
            transaction.seal(&mut batch);
        }
        Ok(batch.then(Op::Acknowledge(job.lease)))
    }
}

/// The shape of the specification's workflow error summary.
pub(crate) fn failure_event(
    platform: &Platform,
    tenant: &Tenant,
    workflow: &Workflow,
    failure: &Failure,
    original_event: &Json,
) -> Event {
    let ts = iso_8601(platform.clock.instant_ms());
    let metadata = metadata(platform, workflow, names::ERRORS.to_owned());
    let event = json!({
        "original_event": original_event,
        "original_context": {
            "id": metadata.emit_id,
            "ts": ts,
            "workflow_id": workflow.id,
            "deployment_id": workflow.deployment_id(),
            "source_type": "SOURCE",
            "verified": true,
            "owner_id": tenant.as_str(),
            "platform_version": env!("CARGO_PKG_VERSION"),
        },
        "error": {"code": failure.code, "cellId": failure.step, "ts": ts, "stack": failure.stack},
        "metadata": {"emitter_id": workflow.id, "emit_id": metadata.emit_id, "name": names::ERRORS},
    });
    Event { event: event.into(), metadata }
}

fn metadata(platform: &Platform, workflow: &Workflow, name: String) -> Metadata {
    let emit_id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    Metadata { emit_id, name, emitter_id: workflow.id.to_string(), id: None, summary: None, ts: None, run_id: None }
}

/// The fault of the run, not of the host.
fn is_too_much(error: &CommitError) -> bool {
    matches!(error, CommitError::OverCap { .. } | CommitError::Invalid(Invalid::TooManyOperations { .. }))
}

// === impl WorkflowRun ===

impl WorkflowRun {
    fn take(&mut self, step: &Step, executed: Executed, platform: &Platform) {
        let Executed { transaction, outcome, .. } = executed;
        let (limits, scope) = (&platform.config.limits, transaction.scope().to_owned());
        self.usage = self.usage.plus(outcome.usage);
        self.transactions.push(transaction);
        if let Some(fault) = &outcome.fault {
            let stack = if fault.stack().is_empty() { fault.to_string() } else { fault.stack().to_owned() };
            self.failure = Some(Failure::new(&step.name, fault.code(), stack));
            return;
        }
        let asked = match effects::parse(&outcome.effects, limits) {
            Ok(asked) => asked,
            Err(problems) => {
                let stack = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                self.failure = Some(Failure::new(&step.name, "invalid_parameters", stack));
                return;
            }
        };
        let returned = outcome.returned.as_deref().and_then(|returned| serde_json::from_str(returned.get()).ok());
        let mut exports = Map::from_iter([("$return_value".to_owned(), returned.unwrap_or_default())]);
        for effect in asked {
            self.apply(step, effect, &mut exports);
        }
        self.steps.insert(step.name.clone(), Value::Object(exports));
        self.writes.extend(write_operations(&scope, outcome.writes, limits.db_source_bytes));
    }

    fn apply(&mut self, step: &Step, effect: Effect, exports: &mut Map<String, Value>) {
        match effect {
            Effect::Export { name, value } => {
                exports.insert(name, value);
            }
            Effect::Exit { .. } => self.has_ended = true,
            Effect::Http(send) => self.sends.push((step.name.clone(), send)),
            Effect::Emit(emit) => self.emits.push(emit),
            // An event has no request that waits for an answer.
            Effect::Respond(_) => {}
            Effect::Email(_) | Effect::S3(_) | Effect::Sse { .. } => self.fail_unsupported(step, &effect),
        }
    }

    fn fail_unsupported(&mut self, step: &Step, effect: &Effect) {
        let reason = effects::unsupported(effect).unwrap_or_default();
        let stack = format!("$.send.{}: {reason}", effects::kind(effect));
        self.failure = Some(Failure::new(&step.name, "unsupported", stack));
    }

    /// A run that failed emits its failure, and what the steps before it emitted.
    fn planned(&self, platform: &Platform, tenant: &Tenant, workflow: &Workflow, trigger: &Json) -> Vec<Planned> {
        let emitted = |emit: &Emit| {
            let (stream, name) = match &emit.channel {
                Channel::Default => (emit.channel.as_str().to_owned(), String::new()),
                Channel::Named(name) => (name.clone(), name.clone()),
            };
            let id = emit.id.as_ref().map(|id| id.as_str().to_owned());
            let metadata =
                Metadata { id, summary: emit.summary.clone(), ts: emit.ts, ..metadata(platform, workflow, name) };
            let delivery_ms = emit.delivery_ts.and_then(|at_ms| u64::try_from(at_ms).ok());
            Planned { stream, event: Event { event: raw_event(&emit.event), metadata }, delivery_ms }
        };
        let mut planned: Vec<Planned> = self.emits.iter().map(emitted).collect();
        planned.extend(self.failure.as_ref().map(|failure| Planned {
            stream: names::ERRORS.to_owned(),
            event: failure_event(platform, tenant, workflow, failure, trigger),
            delivery_ms: None,
        }));
        planned
    }

    fn record(
        &self,
        job: &Job,
        delivery: &Delivery,
        workflow: &Workflow,
        platform: &Platform,
        planned: &[Planned],
    ) -> RunRecord {
        let fault = self.failure.as_ref().map(|failure| {
            let (name, message) = (failure.code.clone(), format!("step {}: {}", failure.step, failure.stack));
            Fault::Threw(Thrown { name, message, stack: failure.stack.clone(), ..Thrown::default() })
        });
        let facts = Facts {
            id: self.id.clone().unwrap_or_else(|| new_run_id(platform, workflow.id.as_str())),
            emitter_id: workflow.id.as_str(),
            version: &workflow.deployment_id(),
            trigger: Trigger { kind: TriggerKind::Event, id: job.entry.map(|id| id.to_string()) },
            trace_id: delivery.cause.trace_id,
            queued_at_ms: emitted_at_ms(delivery, platform.clock.now_ms()),
            ended_at_ms: platform.clock.now_ms(),
            reply_status: None,
            recording: self.recording.state,
        };
        let emitted = planned.iter().filter(|planned| planned.stream != names::ERRORS);
        let emit_ids: Vec<String> = emitted.map(|planned| planned.event.metadata.emit_id.clone()).collect();
        let outcome = Outcome { usage: self.usage, fault, ..Outcome::default() };
        RunRecord::new(facts, &outcome, emit_ids.into_iter())
    }

    fn span<'a>(&'a self, delivery: &Delivery, workflow: &'a Workflow, platform: &Platform) -> RunSpan<'a> {
        RunSpan {
            cause: delivery.cause,
            parent: delivery.attempt.id(),
            run_id: self.id.as_ref().map_or("", RunId::as_str),
            emitter_id: workflow.id.as_str(),
            executed_us: platform.clock.now_us(),
        }
    }

    fn ended(&self, delivery: &Delivery, platform: &Platform) -> EndedRun<'_> {
        let now_ms = platform.clock.now_ms();
        EndedRun {
            trigger: TriggerKind::Event,
            outcome: self.failure.as_ref().map_or(SUCCESS, |failure| failure.code.as_str()),
            queued_at_ms: emitted_at_ms(delivery, now_ms),
            ended_at_ms: now_ms,
            usage: self.usage,
            events: self.emits.len(),
        }
    }

    fn has_output(&self) -> bool {
        !(self.emits.is_empty() && self.sends.is_empty() && self.writes.is_empty())
    }

    /// A run that does not fit into one batch is rolled back; its error remains.
    fn fail_too_much(&mut self, error: &CommitError) {
        let (usage, transactions, id) = (self.usage, std::mem::take(&mut self.transactions), self.id.take());
        let failure = Some(Failure::new("", "too_much_output", error.to_string()));
        *self = Self { usage, transactions, failure, id, ..Self::default() };
    }

    async fn release(&self) {
        for transaction in &self.transactions {
            transaction.release().await;
        }
    }
}

/// Spec: "for workflow emits it holds `raw_event`".
fn raw_event(event: &Json) -> Json {
    if event.to_value().get("raw_event").is_some() { event.clone() } else { json!({"raw_event": event}).into() }
}

// === impl Failure ===

impl Failure {
    fn new(step: &str, code: &str, stack: String) -> Self {
        Self { step: step.to_owned(), code: code.to_owned(), stack }
    }
}
