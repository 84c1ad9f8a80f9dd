//! Working on what was leased: each job ends settled in a batch of its own, or back in the queue.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use domain::fan_out::{Cause, DEPTH_MAXIMUM};
use domain::ids::{ListenerId, SourceId};
use domain::json::Json;
use domain::users::QuotaError;
use store::{CommitError, Job, Lease, Lookup, Op, Precondition, Tenant};

use super::dead_letters::Epitaph;
use super::handle::Flow;
use super::job::{Acceptance, Delivery, Work};
use super::quota::resets_at_ms;
use super::report::Report;
use super::trigger::still_accepted;
use super::turn::{Owner, Turn, execute};
use crate::Error;
use crate::manage::chores::{self, Progress};
use crate::ports::{Call, RunLimits};
use crate::records::{Source, shelf};

/// After a failure of ours.
const TRY_AGAIN_MS: u64 = 1000;
/// The operator may raise a quota before it resets: what waits for it asks again this often.
const QUOTA_LOOK_MS: u64 = 60_000;

/// What became of a piece of work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was settled in a batch.
    Settled,
    /// It is still to be done, from this time on. This was no attempt.
    HandedBack { until_ms: u64 },
}

/// A run to be made for a piece of work.
pub(super) struct Commission<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) source: &'a Source,
    pub(super) event: Json,
    pub(super) cause: Cause,
    pub(super) preconditions: Vec<Precondition>,
}

// === impl Flow ===

impl Flow {
    pub(super) async fn perform_job(&self, job: &Job) {
        let lease = Lease::from(job.lease);
        let ended = match self.tenant_gate.enter(job.tenant.as_str(), self.platform.clock.now_ms()) {
            Err(until_ms) => Ok(Fate::HandedBack { until_ms }),
            Ok(_place) => self.renewing(&job.tenant, &lease, self.work_on(job)).await,
        };
        self.conclude(&job.tenant, &lease, ended).await;
    }

    /// Keeps the lease while the work goes on. Whoever lost it stops: somebody else is at it.
    pub(super) async fn renewing(
        &self,
        tenant: &Tenant,
        lease: &Lease,
        work: impl Future<Output = Result<Fate, Error>>,
    ) -> Result<Fate, Error> {
        let mut work = pin!(work);
        loop {
            let now_ms = self.platform.clock.now_ms();
            // Both are cancel-safe: the work is pinned outside, and a sleep holds nothing.
            tokio::select! {
                biased;
                fate = &mut work => return fate,
                () = self.platform.clock.sleep_until(now_ms.saturating_add(self.config.lease_ms / 3)) => {}
            }
            let until_ms = self.platform.clock.now_ms().saturating_add(self.config.lease_ms);
            match self.platform.store.extend(tenant, lease, until_ms).await {
                Err(CommitError::LeaseLost) => return Err(Error::Batch(CommitError::LeaseLost)),
                Err(error) => tracing::warn!(%error, "a lease could not be renewed"),
                Ok(()) => {}
            }
        }
    }

    pub(super) async fn conclude(&self, tenant: &Tenant, lease: &Lease, ended: Result<Fate, Error>) {
        match ended {
            Ok(Fate::Settled) => {}
            Ok(Fate::HandedBack { until_ms }) => self.hand_back(tenant, lease, until_ms).await,
            Err(Error::Batch(CommitError::LeaseLost)) => tracing::debug!("work was done by another host"),
            Err(error) => {
                tracing::warn!(%tenant, %error, "work failed and will be tried again");
                self.hand_back(tenant, lease, self.platform.clock.now_ms() + TRY_AGAIN_MS).await;
            }
        }
    }

    async fn hand_back(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) {
        // When this fails the lease runs out by itself.
        if let Err(error) = self.platform.store.extend(tenant, lease, until_ms).await {
            tracing::debug!(%error, "a lease could not be given back");
        }
        self.handed_back.send_replace(());
    }

    async fn work_on(&self, job: &Job) -> Result<Fate, Error> {
        match Work::decode(&job.payload)? {
            Work::Accepted { acceptance } => self.redo(job, &acceptance).await,
            Work::Chore(chore) => {
                while chores::perform(&job.tenant, &self.platform, &chore).await? == Progress::More {}
                self.acknowledge(job, Vec::new()).await
            }
            Work::Deliver(delivery) => match &delivery.listener {
                ListenerId::Webhook(id) => self.deliver_to_webhook(job, &delivery, id).await,
                ListenerId::Source(id) => self.deliver_to_source(job, &delivery, id).await,
                ListenerId::Workflow(id) => self.deliver_to_workflow(job, &delivery, id).await,
            },
            Work::Send(sending) => self.send(job, &sending).await,
        }
    }

    pub(super) async fn acknowledge(&self, job: &Job, operations: Vec<Op>) -> Result<Fate, Error> {
        let mut batch = self.platform.batch(&job.tenant).then(Op::Acknowledge(job.lease));
        batch.operations.extend(operations);
        self.platform.store.commit(batch).await?;
        Ok(Fate::Settled)
    }

    pub(super) async fn give_up(&self, job: &Job, delivery: &Delivery, epitaph: Epitaph) -> Result<Fate, Error> {
        let operations = self.bury(&job.tenant, delivery, job.entry, epitaph).await?;
        self.acknowledge(job, operations).await
    }

    /// An accepted request whose run was never committed. Mostly it was, and there is nothing left to do.
    async fn redo(&self, job: &Job, id: &str) -> Result<Fate, Error> {
        let found = shelf::find::<Acceptance>(&*self.platform.store, &job.tenant, Lookup::Id(id)).await?;
        let Some(acceptance) = found.map(|kept| kept.record) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let removal = shelf::delete(&acceptance);
        let Some(source) = self.source(&job.tenant, &acceptance.source).await? else {
            return self.acknowledge(job, vec![removal]).await;
        };
        let preconditions = vec![still_accepted(&acceptance)];
        let (tenant, event) = (&job.tenant, acceptance.event);
        let cause = self.outside();
        let commission = Commission { tenant, source: &source, event, cause, preconditions };
        let acknowledgement = Op::Acknowledge(job.lease);
        match self.commission(commission, |_| vec![removal, acknowledgement]).await {
            // The first host was only slow: what it did counts.
            Err(Error::Changed) => self.acknowledge(job, Vec::new()).await,
            ended => ended,
        }
    }

    async fn deliver_to_source(&self, job: &Job, delivery: &Delivery, id: &SourceId) -> Result<Fate, Error> {
        let source = self.source(&job.tenant, id).await?;
        let Some(source) = source.filter(|source| source.is_active) else {
            return self.acknowledge(job, Vec::new()).await;
        };
        let event = delivery.event.event.clone();
        if delivery.cause.is_loop() {
            let message = format!("sources run each other in a loop: the event was dropped after {DEPTH_MAXIMUM} runs");
            let report = Report { code: "loop", message: &message, original_event: Some(event) };
            return self.acknowledge(job, vec![self.report(&source, report)?]).await;
        }
        let (tenant, cause) = (&job.tenant, delivery.cause.deeper());
        let commission = Commission { tenant, source: &source, event, cause, preconditions: Vec::new() };
        let acknowledgement = Op::Acknowledge(job.lease);
        self.commission(commission, |_| vec![acknowledgement]).await
    }

    /// Runs a source and commits what it did together with `settlement`, made from the time the run ended at.
    pub(super) async fn commission(
        &self,
        commission: Commission<'_>,
        settlement: impl FnOnce(i64) -> Vec<Op>,
    ) -> Result<Fate, Error> {
        let Commission { tenant, source, event, cause, preconditions } = commission;
        let plan = match self.quota.check(&self.platform, tenant).await {
            Ok(plan) => plan,
            Err(Error::Quota(quota)) => {
                self.report_quota(tenant, source, &quota).await;
                return Ok(self.wait_for_quota(&quota));
            }
            Err(error) => return Err(error),
        };
        let turn = Turn {
            owner: Owner { tenant, plan: &plan },
            source,
            call: Call::Run { event },
            limits: RunLimits::background(&self.platform.config.limits),
            reply: None,
            operations: Vec::new(),
        };
        let executed = execute(&self.platform, &turn, turn.transaction(&self.platform)).await?;
        let mut frame = self.frame(cause);
        frame.preconditions = preconditions;
        frame.operations = settlement(self.platform.clock.instant_ms());
        self.settle(&turn, executed, frame).await?;
        Ok(Fate::Settled)
    }

    pub(super) fn wait_for_quota(&self, quota: &QuotaError) -> Fate {
        let look_ms = self.platform.clock.now_ms().saturating_add(QUOTA_LOOK_MS);
        Fate::HandedBack { until_ms: resets_at_ms(quota).min(look_ms) }
    }

    pub(super) async fn source(&self, tenant: &Tenant, id: &SourceId) -> Result<Option<Arc<Source>>, Error> {
        self.sources.find(&*self.platform.store, tenant, id).await
    }
}
