//! Working on what was leased: each job ends settled in a batch of its own, or back in the queue.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use domain::fan_out::DEPTH_MAXIMUM;
use domain::ids::{EmitId, ListenerId, SourceId};
use domain::json::Json;
use domain::retry::Verdict;
use domain::runs::{Trigger, TriggerKind};
use domain::users::QuotaError;
use store::{CommitError, Job, JobId, Lease, Lookup, Op, Origin, Tenant};
use tokio::sync::oneshot;

use crate::Error;
use crate::flow::admit::{Permit, still_accepted};
use crate::flow::deliver::{Report, SwitchedOff};
use crate::flow::handle::Flow;
use crate::invoke::{Frame, Invocation, Owner, Target, execute, settle};
use crate::numbers::Destination;
use crate::ports::{Call, Progress, RunLimits};
use crate::quotas::resets_at_ms;
use crate::records::{self, Acceptance, Delivery, Source, Work, table};
use crate::watching::{Doing, watch};

/// After a failure of ours.
const TRY_AGAIN_MS: u64 = 1000;
/// A renewal that failed: when the store is back, holders of leases renew them before other hosts take them.
const RENEW_AGAIN_MS: u64 = 200;
/// The operator may raise a quota before it resets: what waits for it asks again this often.
const QUOTA_LOOK_MS: u64 = 60_000;

/// The kinds of work, as the watchdog tells them.
const ACCEPTED: Doing = Doing::Work("accepted_request");
const CHORE: Doing = Doing::Work("chore");
const TO_WEBHOOK: Doing = Doing::Work("delivery_to_webhook");
const TO_SOURCE: Doing = Doing::Work("delivery_to_source");
const TO_WORKFLOW: Doing = Doing::Work("delivery_to_workflow");
const WORKFLOW_RUN: Doing = Doing::Work("workflow_run");
const SEND: Doing = Doing::Work("send");
pub(crate) const TIMER: Doing = Doing::Work("timer");
pub(crate) const RUN: Doing = Doing::Work("run");

/// How a job or tick ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    /// Its batch is committed.
    Committed,
    /// It is available again from this time on. This does not count as an attempt.
    Released { until_ms: u64 },
}

/// A run of a source for a job or tick.
pub(crate) struct QueuedRun<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) source: &'a Source,
    pub(crate) event: Json,
    pub(crate) trigger: Trigger,
    pub(crate) queued_at_ms: u64,
    pub(crate) frame: Frame,
}

// === impl Flow ===

impl Flow {
    /// One of what the tenant may have under way, or when to look again. Asked as soon as work is leased, so that the
    /// next call leases no more than there is room for.
    pub(crate) fn admit_work(&self, tenant: &Tenant) -> Result<Permit, u64> {
        self.tenant_gate.enter(tenant.as_str(), self.platform.clock.now_ms())
    }

    pub(crate) async fn perform_job(&self, job: &Job, admission: Result<Permit, u64>) {
        let lease = Lease::from(job.lease);
        let work = self.renewing_lease(&job.tenant, &lease, self.work_on(job));
        let ended = self.admitted(&job.tenant, admission, work).await;
        self.complete(&job.tenant, &lease, ended).await;
    }

    /// Does work that was admitted, and tells the worker when there is room again.
    pub(crate) async fn admitted(
        &self,
        tenant: &Tenant,
        admission: Result<Permit, u64>,
        work: impl Future<Output = Result<Completion, Error>>,
    ) -> Result<Completion, Error> {
        let permit = match admission {
            Ok(permit) => permit,
            Err(until_ms) => return Ok(Completion::Released { until_ms }),
        };
        let ended = work.await;
        if permit.leave() {
            self.look_again(tenant, self.platform.clock.now_ms());
        }
        ended
    }

    /// Renews the lease while the work goes on, and stops when it is lost: then another host has it.
    pub(crate) async fn renewing_lease(
        &self,
        tenant: &Tenant,
        lease: &Lease,
        work: impl Future<Output = Result<Completion, Error>>,
    ) -> Result<Completion, Error> {
        let mut work = pin!(work);
        let mut renew_ms = renewal_ms(self.platform.clock.now_ms(), self.config.lease_ms);
        loop {
            // Both are cancel-safe: the work is pinned outside, and a sleep holds nothing.
            tokio::select! {
                biased;
                fate = &mut work => return fate,
                () = self.platform.clock.sleep_until(renew_ms) => {}
            }
            let until_ms = self.platform.clock.now_ms().saturating_add(self.config.lease_ms);
            match self.platform.store.extend(tenant, lease, until_ms).await {
                Err(CommitError::LeaseLost) => return Err(Error::Batch(CommitError::LeaseLost)),
                Err(error) => {
                    tracing::warn!(%error, "a lease could not be renewed");
                    renew_ms = self.platform.clock.now_ms().saturating_add(RENEW_AGAIN_MS);
                }
                Ok(()) => renew_ms = renewal_ms(self.platform.clock.now_ms(), self.config.lease_ms),
            }
        }
    }

    /// Goes on with a run that was accepted, and renews the hold on its job: while this host lives, no other begins it.
    pub(crate) async fn holding<Output>(
        &self,
        tenant: &Tenant,
        hold: Option<JobId>,
        work: impl Future<Output = Output>,
    ) -> Output {
        let Some(job) = hold else { return work.await };
        let mut work = pin!(work);
        let mut renew_ms = renewal_ms(self.platform.clock.now_ms(), self.config.lease_ms);
        loop {
            // Both are cancel-safe: the work is pinned outside, and a sleep holds nothing.
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.platform.clock.sleep_until(renew_ms) => {}
            }
            let until_ms = self.platform.clock.now_ms().saturating_add(self.config.lease_ms);
            match self.platform.store.extend_hold(tenant, job, until_ms).await {
                // Another host runs it as well; whichever commits first counts.
                Err(CommitError::LeaseLost) => return work.await,
                Err(error) => {
                    tracing::warn!(%error, "the hold of an accepted request could not be renewed");
                    renew_ms = self.platform.clock.now_ms().saturating_add(RENEW_AGAIN_MS);
                }
                Ok(()) => renew_ms = renewal_ms(self.platform.clock.now_ms(), self.config.lease_ms),
            }
        }
    }

    /// The same when the job is known only while the work goes on, if at all.
    pub(crate) async fn holding_when_known<Output>(
        &self,
        tenant: &Tenant,
        held: oneshot::Receiver<JobId>,
        work: impl Future<Output = Output>,
    ) -> Output {
        let mut work = pin!(work);
        // Both are cancel-safe: the work is pinned outside, and a job is taken only when it is there.
        let job = tokio::select! {
            biased;
            done = &mut work => return done,
            job = held => job.ok(),
        };
        self.holding(tenant, job, work).await
    }

    pub(crate) async fn complete(&self, tenant: &Tenant, lease: &Lease, ended: Result<Completion, Error>) {
        match ended {
            Ok(Completion::Committed) => {}
            Ok(Completion::Released { until_ms }) => self.release(tenant, lease, until_ms).await,
            Err(Error::Batch(CommitError::LeaseLost)) => tracing::debug!("work was done by another host"),
            Err(error) => {
                tracing::warn!(%tenant, %error, "work failed and will be tried again");
                self.release(tenant, lease, self.platform.clock.now_ms() + TRY_AGAIN_MS).await;
            }
        }
    }

    async fn release(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) {
        // When this fails the lease runs out by itself.
        if let Err(error) = self.platform.store.extend(tenant, lease, until_ms).await {
            tracing::debug!(%error, "a lease could not be given back");
        }
        self.look_again(tenant, until_ms);
    }

    /// Work of the tenant went back into the queue, or has room again, before the worker would look for it.
    fn look_again(&self, tenant: &Tenant, due_ms: u64) {
        let store = &self.platform.store;
        store.pulse().work_in(tenant.partition(store.partitions()), due_ms, Origin::Here);
    }

    async fn work_on(&self, job: &Job) -> Result<Completion, Error> {
        match Work::decode(&job.payload)? {
            Work::Accepted { acceptance } => watch(ACCEPTED, Box::pin(self.redo(job, &acceptance))).await,
            Work::Chore(chore) => watch(CHORE, Box::pin(self.do_chore(job, &chore))).await,
            Work::Deliver(mut delivery) => {
                self.platform.begin_attempt(&mut delivery);
                self.deliver(job, &delivery).await
            }
            Work::CheckWebhook { webhook } => watch(CHORE, Box::pin(self.check_webhook(job, &webhook))).await,
            Work::Run { workflow, run, segment } => {
                watch(WORKFLOW_RUN, Box::pin(self.run_workflow(job, &workflow, (&run, segment)))).await
            }
            Work::Send(sending) => watch(SEND, Box::pin(self.send(job, &sending))).await,
            Work::Email(sending) => watch(SEND, Box::pin(self.send_email(job, &sending))).await,
            Work::Object(sending) => watch(SEND, Box::pin(self.put_object(job, &sending))).await,
        }
    }

    async fn deliver(&self, job: &Job, delivery: &Delivery) -> Result<Completion, Error> {
        match &delivery.listener {
            ListenerId::Webhook(id) => watch(TO_WEBHOOK, Box::pin(self.deliver_to_webhook(job, delivery, id))).await,
            ListenerId::Source(id) => {
                let ended = watch(TO_SOURCE, Box::pin(self.deliver_to_source(job, delivery, id))).await;
                self.note_delivery(delivery, Destination::Source, ended)
            }
            ListenerId::Workflow(id) => {
                let ended = watch(TO_WORKFLOW, Box::pin(self.deliver_to_workflow(job, delivery, id))).await;
                self.note_delivery(delivery, Destination::Workflow, ended)
            }
        }
    }

    /// A delivery within the host: it was made, failed for a reason of the host's own, or has to wait.
    fn note_delivery(
        &self,
        delivery: &Delivery,
        destination: Destination,
        ended: Result<Completion, Error>,
    ) -> Result<Completion, Error> {
        match &ended {
            Ok(Completion::Committed) => self.platform.note_attempt(delivery, destination, Some(Verdict::Delivered)),
            Ok(Completion::Released { .. }) => {}
            Err(_) => self.platform.note_attempt(delivery, destination, None),
        }
        ended
    }

    async fn do_chore(&self, job: &Job, chore: &records::Job) -> Result<Completion, Error> {
        while self.chores.perform(&job.tenant, chore).await? == Progress::More {}
        self.acknowledge(job, Vec::new()).await
    }

    pub(crate) async fn acknowledge(&self, job: &Job, operations: Vec<Op>) -> Result<Completion, Error> {
        let mut batch = self.platform.batch(&job.tenant).then(Op::Acknowledge(job.lease));
        batch.operations.extend(operations);
        self.platform.store.commit(batch).await?;
        Ok(Completion::Committed)
    }

    /// An accepted request whose run was never committed. Mostly it was, and there is nothing left to do.
    async fn redo(&self, job: &Job, id: &str) -> Result<Completion, Error> {
        let found = table::find::<Acceptance>(&*self.platform.store, &job.tenant, Lookup::Id(id)).await?;
        let Some(acceptance) = found.map(|kept| kept.record) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let removal = table::delete(&acceptance);
        let Some(source) = self.source(&job.tenant, &acceptance.source).await? else {
            return self.acknowledge(job, vec![removal]).await;
        };
        let mut frame = Frame::traced(&self.platform, acceptance.context());
        frame.preconditions.push(still_accepted(&acceptance));
        let run = QueuedRun {
            tenant: &job.tenant,
            source: &source,
            event: acceptance.event,
            trigger: Trigger { kind: acceptance.kind, id: Some(acceptance.id) },
            queued_at_ms: acceptance.accepted_at_ms,
            frame,
        };
        let acknowledgement = Op::Acknowledge(job.lease);
        match self.run_queued(run, |_| vec![removal, acknowledgement]).await {
            // The first host was only slow: what it did counts.
            Err(Error::Changed) => self.acknowledge(job, Vec::new()).await,
            ended => ended,
        }
    }

    async fn deliver_to_source(&self, job: &Job, delivery: &Delivery, id: &SourceId) -> Result<Completion, Error> {
        let Some(source) = self.source(&job.tenant, id).await? else {
            return self.acknowledge(job, Vec::new()).await;
        };
        if !source.is_active {
            let listener = SwitchedOff { noun: "source", updated_at: source.updated_at, reason: None };
            return self.deliver_to_switched_off(job, delivery, listener).await;
        }
        let event = delivery.event.event.clone();
        if delivery.cause.is_loop() {
            let message = format!("sources run each other in a loop: the event was dropped after {DEPTH_MAXIMUM} runs");
            let report = Report { code: "loop", message: &message, original_event: Some(event) };
            return self.acknowledge(job, vec![self.report(&source, report)?]).await;
        }
        let frame = Frame::new(delivery.cause.deeper());
        let id = job.entry.map(|id| id.to_string());
        let run = QueuedRun {
            tenant: &job.tenant,
            source: &source,
            event,
            trigger: Trigger { kind: TriggerKind::Event, id },
            queued_at_ms: emitted_at_ms(delivery, self.platform.clock.now_ms()),
            frame,
        };
        let acknowledgement = Op::Acknowledge(job.lease);
        self.run_queued(run, |_| vec![acknowledgement]).await
    }

    /// Runs a source and commits what it did together with `completion`, made from the time the run ended at.
    pub(crate) async fn run_queued(
        &self,
        run: QueuedRun<'_>,
        completion: impl FnOnce(i64) -> Vec<Op>,
    ) -> Result<Completion, Error> {
        let QueuedRun { tenant, source, event, trigger, queued_at_ms, mut frame } = run;
        let _permit = match self.source_gate.enter(source.id.as_str(), self.platform.clock.now_ms()) {
            Ok(permit) => permit,
            Err(until_ms) => return Ok(Completion::Released { until_ms }),
        };
        let admission = match self.platform.quotas().admit(&self.platform, tenant).await {
            Ok(admission) => admission,
            Err(error @ (Error::Quota(_) | Error::NoRoom { .. })) => {
                self.report_refusal(tenant, source, &error).await;
                return Ok(match &error {
                    Error::Quota(quota) => self.wait_for_quota(quota),
                    _ => self.wait_for_room(),
                });
            }
            Err(error) => return Err(error),
        };
        let invocation = Invocation {
            owner: Owner::admitted(tenant, &admission),
            target: Target::of_source(source),
            call: Call::Run { event },
            limits: RunLimits::background(&self.platform.config.limits),
            trigger,
            queued_at_ms,
            reply: None,
            step: None,
        };
        let executed = execute(&self.platform, &invocation, invocation.transaction(&self.platform)).await?;
        frame.operations = completion(self.platform.clock.instant_ms());
        settle(&self.platform, &invocation, executed, frame).await?;
        admission.use_up();
        Ok(Completion::Committed)
    }

    pub(crate) fn wait_for_quota(&self, quota: &QuotaError) -> Completion {
        let look_ms = self.platform.clock.now_ms().saturating_add(QUOTA_LOOK_MS);
        Completion::Released { until_ms: resets_at_ms(quota).min(look_ms) }
    }

    /// What was accepted stays in the queue until there is room for what its run keeps.
    pub(crate) fn wait_for_room(&self) -> Completion {
        Completion::Released { until_ms: self.platform.clock.now_ms().saturating_add(QUOTA_LOOK_MS) }
    }

    pub(crate) async fn source(&self, tenant: &Tenant, id: &SourceId) -> Result<Option<Arc<Source>>, Error> {
        self.sources.find(&*self.platform.store, tenant, id).await
    }
}

/// After a third of the lease, so that two renewals may fail; at the end of a period that is the same for all leases, so that
/// a store that can extends them together.
pub(super) fn renewal_ms(now_ms: u64, lease_ms: u64) -> u64 {
    let period_ms = (lease_ms / 8).max(1);
    let at_ms = now_ms.saturating_add(lease_ms / 3);
    (at_ms - at_ms % period_ms).max(now_ms.saturating_add(1))
}

/// When the event came into being, by its id.
pub(crate) fn emitted_at_ms(delivery: &Delivery, now_ms: u64) -> u64 {
    let id = EmitId::parse(&delivery.event.metadata.emit_id);
    id.ok().and_then(|id| u64::try_from(id.emitted_at_ms()).ok()).unwrap_or(now_ms)
}
