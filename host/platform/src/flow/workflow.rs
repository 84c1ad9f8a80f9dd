//! Workflows that listen: their steps run one after the other, each an action in a sandbox of its own, and everything
//! they did is one batch. A step that fails ends the run; its error is an event of `$errors`.

use std::sync::Arc;

use domain::actions::{Effect, HttpSend};
use domain::emit::{Channel, Emit};
use domain::fan_out::DEPTH_MAXIMUM;
use domain::ids::{EmitId, EmitterId, WorkflowId};
use domain::json::Json;
use domain::users::Plan;
use serde_json::{Map, Value, json};
use store::{Batch, CommitError, Invalid, Job, Lookup, Op, Tenant};

use super::handle::Flow;
use super::instance::Instance;
use super::invocation::Invocation;
use super::job::Delivery;
use super::perform::Fate;
use super::plan::iso_8601;
use super::routes::{Deliveries, Outgoing, Sender, deliveries};
use super::send::enqueue;
use super::services::write_operations;
use super::transaction::{Terms, Transaction, new_run_id};
use super::turn::{Owner, usage_operations};
use crate::manage::workflows::{TRIGGER, secrets_of};
use crate::ports::{Call, Outcome, RunLimits, Task, Usage};
use crate::records::{Event, Metadata, Step, Workflow, names, shelf};
use crate::{Error, Platform, effects};

/// How a run went so far.
#[derive(Default)]
struct Course {
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
}

/// Why a run ended early.
pub(super) struct Failure {
    pub(super) step: String,
    pub(super) code: String,
    pub(super) stack: String,
}

/// One event of a workflow's streams.
struct Planned {
    stream: String,
    event: Event,
    delivery_ms: Option<u64>,
}

// === impl Flow ===

impl Flow {
    pub(super) async fn deliver_to_workflow(
        &self,
        job: &Job,
        delivery: &Delivery,
        id: &WorkflowId,
    ) -> Result<Fate, Error> {
        let found = shelf::find::<Workflow>(&*self.platform.store, &job.tenant, Lookup::Id(id.as_str())).await?;
        let Some(workflow) = found.map(|kept| kept.record).filter(|workflow| workflow.is_active) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let plan = match self.quota.check(&self.platform, &job.tenant).await {
            Err(Error::Quota(quota)) => return Ok(self.wait_for_quota(&quota)),
            checked => checked?,
        };
        let mut course = if delivery.cause.is_loop() {
            let stack = format!("sources and workflows run each other in a loop: ended after {DEPTH_MAXIMUM} runs");
            Course { failure: Some(Failure::new("", "loop", stack)), ..Course::default() }
        } else {
            self.run_steps(&job.tenant, &workflow, &delivery.event.event).await?
        };
        loop {
            let batch = self.workflow_batch(job, delivery, &workflow, &plan, &course).await?;
            match self.platform.store.commit(batch).await {
                Err(error) if is_too_much(&error) && course.has_output() => course.spoil(&error),
                Ok(_) => break,
                // Values that a step read have changed: the job is done again, as after a crash.
                Err(error) => {
                    course.release().await;
                    return Err(error.into());
                }
            }
        }
        self.quota.add(&self.platform, &job.tenant, &course.usage);
        Ok(Fate::Settled)
    }

    async fn run_steps(&self, tenant: &Tenant, workflow: &Workflow, event: &Json) -> Result<Course, Error> {
        let mut secrets = secrets_of(&self.platform, tenant, workflow)?;
        let (run_id, mut course) = (new_run_id(&self.platform), Course::default());
        course.steps.insert(TRIGGER.to_owned(), json!({"event": event}));
        for step in &workflow.steps {
            let mut props = step.props.clone();
            if let Some(Value::Object(secret)) = secrets.remove(&step.name) {
                props.extend(secret);
            }
            let scope = names::db_of_step(&workflow.id, &step.name);
            let terms = self.terms(tenant, step, scope, &run_id);
            let (outcome, transaction) = self.run_step(step, props, terms, &course.steps).await?;
            course.take(step, transaction, outcome, &self.platform);
            if course.has_ended || course.failure.is_some() {
                break;
            }
        }
        Ok(course)
    }

    async fn run_step(
        &self,
        step: &Step,
        props: Map<String, Value>,
        terms: Terms,
        steps: &Map<String, Value>,
    ) -> Result<(Outcome, Arc<Transaction>), Error> {
        let (platform, tenant) = (&self.platform, &terms.tenant);
        let program = platform.programs.find(&*platform.store, tenant, step.origin, &step.program).await?;
        let instance = match Instance::new(platform, tenant, &step.description, props, None).await? {
            Ok(instance) => instance,
            Err(fault) => return Ok((Outcome::failed(fault), Transaction::new(platform, terms))),
        };
        let call = Call::Action { steps: Value::Object(steps.clone()) };
        let call = call.to_json(step.component_id.as_str(), instance.props.expose());
        let limits = RunLimits::background(&platform.config.limits);
        let invocation = Invocation {
            program,
            task: Task { lane: tenant.to_string(), call, limits },
            credentials: Arc::new(instance.credentials),
            reply: None,
            transaction: Transaction::new(platform, terms),
        };
        let outcome = invocation.execute(platform).await?;
        Ok((outcome, invocation.transaction))
    }

    fn terms(&self, tenant: &Tenant, step: &Step, scope: String, run_id: &str) -> Terms {
        Terms {
            run_id: run_id.to_owned(),
            tenant: tenant.clone(),
            scope,
            isolation: step.description.isolation(),
            is_atomic: step.description.is_atomic,
            wall_clock: RunLimits::background(&self.platform.config.limits).wall_clock,
        }
    }

    /// Everything a run did, and the end of the job it was done for.
    async fn workflow_batch(
        &self,
        job: &Job,
        delivery: &Delivery,
        workflow: &Workflow,
        plan: &Plan,
        course: &Course,
    ) -> Result<Batch, Error> {
        let platform = &self.platform;
        let mut batch = platform.batch(&job.tenant);
        let planned = course.planned(platform, &job.tenant, workflow, &delivery.event.event);
        let keep = u32::try_from(platform.config.limits.events_kept).unwrap_or(u32::MAX);
        for Planned { stream, event, .. } in &planned {
            let (emitter, stream) = (workflow.id.to_string(), stream.clone());
            batch.operations.push(Op::Append { emitter, stream, value: event.encode()?, keep });
        }
        let subscriptions = self.routes.of(&*platform.store, &job.tenant).await?;
        let emitter = EmitterId::Workflow(workflow.id.clone());
        let sender = Sender { emitter: &emitter, now_ms: batch.now_ms, cause: delivery.cause.deeper() };
        let outgoing = planned.iter().enumerate().map(|(index, Planned { stream, event, delivery_ms })| Outgoing {
            index,
            stream,
            event,
            delivery_ms: *delivery_ms,
        });
        let Deliveries { operations, dropped } = deliveries(&subscriptions, &sender, outgoing)?;
        batch.operations.extend(operations);
        if let Some(message) = dropped {
            let failure = Failure::new("", "fan_out", message);
            let event = failure_event(platform, &job.tenant, workflow, &failure, &delivery.event.event);
            let (emitter, stream) = (workflow.id.to_string(), names::ERRORS.to_owned());
            batch.operations.push(Op::Append { emitter, stream, value: event.encode()?, keep });
        }
        for (step, send) in &course.sends {
            batch.operations.push(enqueue(workflow, step, send.clone(), batch.now_ms)?);
        }
        batch.operations.extend_from_slice(&course.writes);
        let owner = Owner { tenant: &job.tenant, plan };
        batch.operations.extend(usage_operations(platform, owner, &course.usage, true));
        for transaction in &course.transactions {
            transaction.seal(&mut batch);
        }
        Ok(batch.then(Op::Acknowledge(job.lease)))
    }
}

/// The shape of the specification's workflow error summary.
pub(super) fn failure_event(
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
    Metadata { emit_id, name, emitter_id: workflow.id.to_string(), id: None, summary: None, ts: None }
}

/// The run's own doing, not ours.
fn is_too_much(error: &CommitError) -> bool {
    matches!(error, CommitError::OverCap { .. } | CommitError::Invalid(Invalid::TooManyOperations { .. }))
}

// === impl Course ===

impl Course {
    fn take(&mut self, step: &Step, transaction: Arc<Transaction>, outcome: Outcome, platform: &Platform) {
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

    fn has_output(&self) -> bool {
        !(self.emits.is_empty() && self.sends.is_empty() && self.writes.is_empty())
    }

    /// A run that did more than one batch takes did not happen, but for the error.
    fn spoil(&mut self, error: &CommitError) {
        let (usage, transactions) = (self.usage, std::mem::take(&mut self.transactions));
        let failure = Some(Failure::new("", "too_much_output", error.to_string()));
        *self = Self { usage, transactions, failure, ..Self::default() };
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
