//! The loops that lease what is due and work on it, within bounds, until they are told to stop.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use store::{Job, LeaseRequest, Leased, Partition, Shares, Tenant, Tick};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::flow::handle::Flow;

/// The polling interval when no pulse comes: a pulse is best effort.
const LOOK_EVERY_MS: u64 = 1000;

/// Most jobs of one lease call: a job may carry an event of some megabytes, and jobs of a tenant without a permit are
/// released again.
const LEASED_AT_ONCE: usize = 64;

type Performing = BoxFuture<'static, ()>;

/// Works on due jobs and timers. Several hosts may each run one on the same store.
pub struct Worker(pub(in crate::flow) Arc<Flow>);

#[derive(Clone, Copy)]
enum Kind {
    Jobs,
    Timers,
}

// === impl Worker ===

impl Worker {
    /// Returns when what was under way has ended, or the drain time is over: then other hosts go on with it.
    pub async fn run(self, shutdown: CancellationToken) {
        let flow = &self.0;
        let permits = Arc::new(Semaphore::new(flow.config.work_in_flight));
        tokio::join!(
            each_round(flow, Kind::Jobs, &permits, &shutdown),
            each_round(flow, Kind::Timers, &permits, &shutdown)
        );
        flow.tasks.close();
        let drained_ms = flow.platform.clock.now_ms().saturating_add(flow.config.drain_ms);
        tokio::select! {
            () = flow.tasks.wait() => {}
            () = flow.platform.clock.sleep_until(drained_ms) => {
                tracing::warn!(left = flow.tasks.len(), "stopped before everything under way had ended");
            }
        }
    }
}

/// Leases as much as there are permits for, works on it aside, and waits for what is due next.
async fn each_round(flow: &Arc<Flow>, kind: Kind, permits: &Arc<Semaphore>, shutdown: &CancellationToken) {
    let (mut pulse, mut released) = (flow.platform.store.pulse().work(), flow.released.subscribe());
    loop {
        let Some(first) = first_permit(permits, shutdown).await else {
            return;
        };
        pulse.mark_unchanged();
        released.mark_unchanged();
        let now_ms = flow.platform.clock.now_ms();
        let mut free = vec![first];
        free.extend(std::iter::from_fn(|| permits.clone().try_acquire_owned().ok()).take(LEASED_AT_ONCE - 1));
        let max = u32::try_from(free.len()).unwrap_or(store::MAX_LEASES);
        let request = LeaseRequest { now_ms, lease_ms: flow.config.lease_ms, max };
        let leased = match lease(flow, kind, request).await {
            Ok(leased) => leased,
            Err(error) => {
                tracing::warn!(%error, "no work could be leased");
                Leased { items: Vec::new(), next_due_ms: None }
            }
        };
        let has_worked = !leased.items.is_empty();
        for (performing, permit) in leased.items.into_iter().zip(free) {
            flow.tasks.spawn(hold(permit, performing));
        }
        let look_at_ms = now_ms.saturating_add(LOOK_EVERY_MS);
        let next_ms = leased.next_due_ms.map_or(look_at_ms, |due_ms| due_ms.min(look_at_ms));
        if has_worked && next_ms <= now_ms {
            continue;
        }
        // All are cancel-safe: nothing is taken by waiting.
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = released.changed() => {}
            _ = pulse.changed() => {}
            () = flow.platform.clock.sleep_until(next_ms.max(now_ms + 1)) => {}
        }
    }
}

async fn lease(flow: &Arc<Flow>, kind: Kind, request: LeaseRequest) -> Result<Leased<Performing>, store::Error> {
    let store = &flow.platform.store;
    let partitions = Partition::all(store.partitions());
    Ok(match kind {
        Kind::Jobs => {
            let Leased { items, next_due_ms } = store.lease_jobs(&partitions, request, shares(flow)).await?;
            let items = items.into_iter().map(|job| perform_job(flow, job)).collect();
            Leased { items, next_due_ms }
        }
        Kind::Timers => {
            let Leased { items, next_due_ms } = store.lease_timers(&partitions, request).await?;
            let items = items.into_iter().map(|tick| perform_tick(flow, tick)).collect();
            Leased { items, next_due_ms }
        }
    })
}

/// Jobs of a tenant that has all it may have stay in the queue; when one of them ends, `released` says so.
fn shares(flow: &Flow) -> Shares {
    let count = |(tenant, under_way): (String, usize)| {
        Some((Tenant::parse(&tenant).ok()?, u32::try_from(under_way).unwrap_or(u32::MAX)))
    };
    let under_way = flow.tenant_gate.under_way().into_iter().filter_map(count).collect();
    Shares { each: u32::try_from(flow.config.work_per_tenant).unwrap_or(u32::MAX), under_way }
}

fn perform_job(flow: &Arc<Flow>, job: Job) -> Performing {
    let (flow, admission) = (flow.clone(), flow.admit_work(&job.tenant));
    let (turns, tenant) = (flow.turns.clone(), job.tenant.clone());
    turns.share(tenant.as_str(), async move { flow.perform_job(&job, admission).await }.boxed()).boxed()
}

fn perform_tick(flow: &Arc<Flow>, tick: Tick) -> Performing {
    let (flow, admission) = (flow.clone(), flow.admit_work(&tick.tenant));
    let (turns, tenant) = (flow.turns.clone(), tick.tenant.clone());
    turns.share(tenant.as_str(), async move { flow.perform_tick(&tick, admission).await }.boxed()).boxed()
}

async fn first_permit(permits: &Arc<Semaphore>, shutdown: &CancellationToken) -> Option<OwnedSemaphorePermit> {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => None,
        permit = permits.clone().acquire_owned() => permit.ok(),
    }
}

async fn hold(permit: OwnedSemaphorePermit, performing: Performing) {
    performing.await;
    drop(permit);
}
