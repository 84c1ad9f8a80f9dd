//! Requests to the endpoint of a source or a workflow: admitted, run, answered.
//!
//! No request is answered with 200 before it is durable. A run that ends within the grace is its own acceptance, one
//! durable write in all; a slower one is accepted first, answered, and goes on. The batch that holds what it did
//! removes the acceptance and requires it, so that a second run after a crash cannot count twice.

use std::pin::pin;
use std::sync::Arc;

use admission::{Full, Scope, Taken};
use domain::ids::{EmitId, EndpointKey, RunId};
use domain::json::Json;
use domain::runs::{Trigger, TriggerKind};
use domain::trace::TraceContext;
use domain::users::QuotaError;
use futures_util::FutureExt;
use serde_json::Value;
use store::{JobId, Precondition, Sharing, Tenant};
use tokio::sync::oneshot;

use super::lookup::Found;
use super::outlive::Outliving;
use crate::Error;
use crate::flow::handle::{Flow, Handle};
use crate::flow::workflows::WorkflowRequest;
use crate::invoke::{Executed, Frame, Invocation, Owner, Ran, Target, Transaction, Values, execute, settle};
use crate::keeping::STORED_BYTES;
use crate::numbers::Refused;
use crate::ports::{Call, Fault, Reply, RunLimits, SandboxError};
use crate::quotas::{Admission, resets_at_ms};
use crate::records::{Acceptance, Stored, table};

/// `Retry-After` of an overloaded host: by then the queue has moved on, or a client with a choice should use another host.
const OVERLOADED_SECONDS: u64 = 1;
/// How much longer than its deadline a run may be on its way to its commit before another host runs it again. On an
/// embedded store there is no other host, and the next start runs it at once.
const REDO_AFTER_MS: u64 = 10_000;

/// A request that may be run. It holds memory for its body, until its run has ended.
pub struct Admitted {
    tenant: Tenant,
    target: Found,
    interface: Interface,
    admission: Admission,
    memory: Taken,
    trace: Option<TraceContext>,
}

/// What the component declared of the HTTP interface that a request came to.
struct Interface {
    name: String,
    has_custom_response: bool,
    keeps_encoding: bool,
}

/// What a client is told, and by which run.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    pub answer: Answer,
    pub run_id: RunId,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The request is durable.
    Accepted,
    /// What the component responded.
    Replied(Reply),
}

/// Why a request was not answered by its source.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such endpoint")]
    NotFound,
    #[error("too many requests, retry after {retry_after_seconds} s")]
    TooManyRequests { retry_after_seconds: u64 },
    #[error("{quota}")]
    OverQuota { quota: QuotaError, retry_after_seconds: u64 },
    #[error("{0}")]
    Full(Full),
    #[error("the server is overloaded, retry after {retry_after_seconds} s")]
    Overloaded { retry_after_seconds: u64 },
    #[error("the source did not respond")]
    NoResponse { run_id: RunId },
    #[error("the workflow did not respond: no step called $.respond before its end or its first pause")]
    NotResponded { run_id: RunId },
    #[error("the source did not respond in time")]
    TimedOut { run_id: RunId },
    #[error("the request could not be accepted")]
    Unavailable(#[source] Error),
}

/// Whether a request can be answered before its run has ended.
enum Early {
    /// With the job whose hold is renewed while the run goes on.
    Accepted(Acceptance, Option<JobId>),
    /// Not without waiting for another run.
    Later,
    /// What the component responded rests on values that have changed.
    Stale,
}

/// A request while it runs.
struct Request<'a> {
    invocation: Invocation<'a>,
    transaction: Arc<Transaction>,
    trace: TraceContext,
}

pub(in crate::flow) type Waiting = oneshot::Sender<Result<Answered, Refusal>>;

// === impl Interface ===

impl Interface {
    /// None when what is there is switched off, or has the key no longer.
    fn of(target: &Found, key: &EndpointKey) -> Option<Self> {
        match target {
            Found::Source(source) => {
                let prop = source.interface_at(key).filter(|_| source.is_active)?;
                let (has_custom_response, keeps_encoding) = (prop.has_custom_response, prop.keeps_encoding);
                Some(Self { name: prop.name.clone(), has_custom_response, keeps_encoding })
            }
            Found::Workflow(workflow) => {
                let (trigger, has_custom_response) = workflow.endpoint(key).filter(|_| workflow.is_active)?;
                Some(Self { name: trigger.to_owned(), has_custom_response, keeps_encoding: false })
            }
        }
    }
}

// === impl Admitted ===

impl Admitted {
    pub fn tenant(&self) -> &str {
        self.tenant.as_str()
    }

    /// The prop whose endpoint the request is for.
    pub fn interface(&self) -> &str {
        &self.interface.name
    }

    /// Whether the component answers itself, also `OPTIONS`.
    pub fn has_custom_response(&self) -> bool {
        self.interface.has_custom_response
    }

    /// Whether the component wants bodies as they were sent, in their content encoding.
    pub fn keeps_encoding(&self) -> bool {
        self.interface.keeps_encoding
    }

    /// That the request belongs to a trace which began before it.
    pub fn continue_trace(&mut self, trace: TraceContext) {
        self.trace = Some(trace);
    }

    /// What its body is counted against while it is read.
    pub fn memory(&mut self) -> &mut Taken {
        &mut self.memory
    }
}

// === impl Request ===

impl Request<'_> {
    /// What the client is told: that the request is durable, or what the component responded.
    fn answer(&self) -> Option<Answered> {
        let answer = match &self.invocation.reply {
            None => Answer::Accepted,
            Some(slot) => Answer::Replied(slot.take()?),
        };
        Some(Answered { answer, run_id: self.transaction.run_id().clone() })
    }

    fn unanswered(&self, fault: Option<&Fault>) -> Refusal {
        let run_id = self.transaction.run_id().clone();
        match fault {
            Some(Fault::Deadline { .. }) => Refusal::TimedOut { run_id },
            _ => Refusal::NoResponse { run_id },
        }
    }
}

// === impl Handle ===

impl Handle {
    /// Finds the source of an endpoint, and checks that it may run once more. The body need not be read before.
    pub async fn admit(&self, key: &str) -> Result<Admitted, Refusal> {
        let key = EndpointKey::parse(key).map_err(|_| Refusal::NotFound)?;
        let now_ms = self.platform.clock.now_ms();
        let found = self.sources.at_endpoint(&*self.platform.store, &key).await.map_err(Refusal::Unavailable)?;
        let (tenant, target) = found.ok_or(Refusal::NotFound)?;
        let interface = Interface::of(&target, &key).ok_or(Refusal::NotFound)?;
        let numbers = &self.platform.numbers;
        let too_many = |refused: Refused| {
            move |retry_after_ms| {
                numbers.refused(refused);
                too_many(retry_after_ms)
            }
        };
        self.endpoint_rates.take(target.id(), now_ms).map_err(too_many(Refused::EndpointRate))?;
        self.tenant_rates.take(tenant.as_str(), now_ms).map_err(too_many(Refused::TenantRate))?;
        let admission = match self.platform.quotas().admit(&self.platform, &tenant).await {
            Ok(admission) => admission,
            Err(error @ (Error::Quota(_) | Error::NoRoom { .. })) => {
                if let Found::Source(source) = &target {
                    self.report_refusal(&tenant, source, &error).await;
                }
                return Err(refusal_at(error, now_ms));
            }
            Err(error) => return Err(refusal(error)),
        };
        self.platform.check_queue(&tenant).map_err(Refusal::Full)?;
        let memory = self.platform.pools().request_bytes(tenant.as_str()).map_err(Refusal::Full)?;
        Ok(Admitted { tenant, target, interface, admission, memory, trace: None })
    }

    /// Runs an admitted request. Returns when the client can be answered; the run goes on by itself.
    pub async fn trigger(&self, admitted: Admitted, event: impl Into<Json>) -> Result<Answered, Refusal> {
        // Taken when the body is there, so that slow clients hold no place, and left when the request is answered: the
        // run goes on without it, among the runs of its tenant.
        let _place = self.platform.pools().request(admitted.tenant.as_str()).map_err(Refusal::Full)?;
        let (waiting, mut answer) = oneshot::channel();
        let flow = self.0.clone();
        let event = event.into();
        let run = async move { flow.answer(admitted, event, waiting).await };
        let mut run = Outliving::new(run.boxed(), &self.tasks);
        // Both are cancel-safe: what is left of the run goes on by itself, an answer is taken only when it is there.
        let answered = tokio::select! {
            biased;
            () = &mut run => answer.try_recv().ok(),
            answered = &mut answer => answered.ok(),
        };
        // A run always sends an answer, or tells why there is none.
        answered.unwrap_or_else(|| Err(overloaded()))
    }
}

// === impl Flow ===

impl Flow {
    async fn answer(&self, admitted: Admitted, event: Json, waiting: Waiting) {
        let Admitted { tenant, target, interface, admission, memory, trace } = admitted;
        let trace = trace.unwrap_or_else(|| self.platform.outside_context());
        let source = match target {
            Found::Source(source) => source,
            Found::Workflow(workflow) => {
                let Interface { name: trigger, has_custom_response, .. } = interface;
                let request = WorkflowRequest { tenant, admission, workflow, trigger, has_custom_response, trace };
                self.answer_workflow(request, event, waiting).await;
                drop(memory);
                return;
            }
        };
        let invocation = Invocation {
            owner: Owner::admitted(&tenant, &admission),
            target: Target::of_source(&source),
            call: Call::Run { event },
            limits: RunLimits::interactive(&self.platform.config.limits),
            trigger: Trigger::of(TriggerKind::Http),
            queued_at_ms: self.platform.clock.now_ms(),
            reply: interface.has_custom_response.then(Arc::default),
            step: None,
        };
        let transaction = invocation.transaction(&self.platform);
        let request = Request { invocation, transaction, trace };
        let mut waiting = Some(waiting);
        let ran = self.run_request(&request, &mut waiting).await;
        if ran.is_ok() {
            admission.use_up();
        }
        if let Err(error) = ran {
            match waiting.take() {
                Some(waiting) => drop(waiting.send(Err(refusal(error)))),
                // It was accepted: the acceptance is still there, and is run again.
                None => tracing::warn!(source.id = %source.id, %error, "an accepted request will be run again"),
            }
        }
        drop(memory);
    }

    async fn run_request(&self, request: &Request<'_>, waiting: &mut Option<Waiting>) -> Result<(), Error> {
        let (executed, accepted) = self.execute_request(request, waiting).await?;
        let ran = self.settle_request(request, executed, accepted).await?;
        send(waiting, request.answer().ok_or_else(|| request.unanswered(ran.outcome.fault.as_ref())));
        Ok(())
    }

    /// Executes, and answers before the run has ended when that takes longer than the grace.
    async fn execute_request(
        &self,
        request: &Request<'_>,
        waiting: &mut Option<Waiting>,
    ) -> Result<(Executed, Option<Acceptance>), Error> {
        let Request { invocation, transaction, .. } = request;
        loop {
            let mut running = pin!(execute(&self.platform, invocation, transaction.clone()));
            // Both are cancel-safe: the run is pinned outside, the other only looks.
            tokio::select! {
                biased;
                executed = &mut running => return Ok((executed?, None)),
                () = self.is_slow(invocation) => {}
            }
            match self.accept(request).await? {
                Early::Accepted(acceptance, hold) => {
                    send(waiting, request.answer().ok_or_else(|| request.unanswered(None)));
                    let executed = self.holding(invocation.owner.tenant, hold, running).await?;
                    return Ok((executed, Some(acceptance)));
                }
                Early::Later => return Ok((running.await?, None)),
                Early::Stale => {}
            }
            if !transaction.begin_again(&[]).await? {
                transaction.release().await;
                return Err(Error::Contended);
            }
        }
    }

    /// Returns when there is an answer that should not wait for the end of the run any longer.
    async fn is_slow(&self, invocation: &Invocation<'_>) {
        match &invocation.reply {
            // What an atomic run responds counts when it has returned.
            Some(_) if invocation.target.description.is_atomic => return std::future::pending().await,
            Some(slot) => slot.arrived().await,
            None => {}
        }
        self.platform.clock.sleep_until(self.grace_ends_ms()).await;
    }

    async fn settle_request(
        &self,
        request: &Request<'_>,
        executed: Executed,
        accepted: Option<Acceptance>,
    ) -> Result<Ran, Error> {
        let mut frame = Frame::traced(&self.platform, request.trace);
        if let Some(acceptance) = accepted {
            frame.preconditions.push(still_accepted(&acceptance));
            frame.operations.push(table::delete(&acceptance));
        }
        settle(&self.platform, &request.invocation, executed, frame).await
    }

    /// Makes a request durable before its run has ended.
    async fn accept(&self, request: &Request<'_>) -> Result<Early, Error> {
        let Request { invocation, transaction, trace } = request;
        let platform = &self.platform;
        let event = match &invocation.call {
            Call::Run { event } => event.clone(),
            _ => Value::Null.into(),
        };
        let Values::Stored(source) = &invocation.target.values else { return Ok(Early::Later) };
        let id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
        let acceptance = Acceptance {
            id,
            source: source.id.clone(),
            event,
            kind: TriggerKind::Http,
            accepted_at_ms: invocation.queued_at_ms,
            trace_id: trace.trace_id,
            span_id: trace.span_id,
        };
        // This host runs it: until its deadline is over, or its process has ended, no other host does.
        let (due_ms, deadline_ms) = (platform.clock.now_ms(), platform.config.limits.http_deadline_ms);
        let is_renewed = platform.store.sharing() != Sharing::Alone;
        let held_ms = if is_renewed { self.config.lease_ms } else { deadline_ms.saturating_add(REDO_AFTER_MS) };
        let operations = acceptance.accept(due_ms, Some(due_ms.saturating_add(held_ms)))?.to_vec();
        if invocation.reply.is_none() {
            let mut batch = platform.batch(invocation.owner.tenant);
            batch.operations = operations;
            let committed = platform.store.commit(batch).await?;
            let hold = committed.jobs.first().copied().filter(|_| is_renewed);
            return Ok(Early::Accepted(acceptance, hold));
        }
        match transaction.before_early_answer(operations).await {
            Ok(Some(committed)) => {
                let hold = committed.jobs.first().copied().filter(|_| is_renewed);
                Ok(Early::Accepted(acceptance, hold))
            }
            Ok(None) => Ok(Early::Later),
            Err(_) if transaction.refusal().is_some() => Ok(Early::Stale),
            Err(error) => Err(SandboxError::Failed(error.into()).into()),
        }
    }
}

/// That no other host has run the request to its end.
pub(crate) fn still_accepted(acceptance: &Acceptance) -> Precondition {
    // It is written once and never changed.
    Precondition::RecordVersion { kind: Acceptance::KIND.to_owned(), id: acceptance.id.clone(), version: 1 }
}

/// A client that went away does not concern the run.
fn send(waiting: &mut Option<Waiting>, answer: Result<Answered, Refusal>) {
    if let Some(waiting) = waiting.take() {
        drop(waiting.send(answer));
    }
}

pub(in crate::flow) fn refusal(error: Error) -> Refusal {
    match error {
        Error::Sandbox(SandboxError::Overloaded(full)) => Refusal::Full(full),
        Error::Full(full) => Refusal::Full(full),
        Error::NoRoom { .. } => Refusal::Full(Full { what: STORED_BYTES, scope: Scope::Tenant }),
        Error::Contended => overloaded(),
        Error::NotFound { .. } => Refusal::NotFound,
        error => Refusal::Unavailable(error),
    }
}

fn overloaded() -> Refusal {
    Refusal::Overloaded { retry_after_seconds: OVERLOADED_SECONDS }
}

fn too_many(retry_after_ms: u64) -> Refusal {
    Refusal::TooManyRequests { retry_after_seconds: retry_after_ms.div_ceil(1000).max(1) }
}

fn refusal_at(error: Error, now_ms: u64) -> Refusal {
    match error {
        Error::Quota(quota) => over_quota(quota, now_ms),
        error => refusal(error),
    }
}

fn over_quota(quota: QuotaError, now_ms: u64) -> Refusal {
    let wait_ms = resets_at_ms(&quota).saturating_sub(now_ms);
    Refusal::OverQuota { quota, retry_after_seconds: wait_ms.div_ceil(1000).max(1) }
}
