//! The loop that leases what is due and works on it, within bounds, until it is told to stop.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use store::{Job, LeaseRequest, LeasedWork, Partition, Shares, Tenant, Tick};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::agenda::{Agenda, Asked};
use crate::flow::handle::Flow;

/// Most jobs of one lease call: a job may carry an event of some megabytes, and jobs of a tenant without a permit are
/// released again.
const LEASED_AT_ONCE: usize = 64;

type Performing = BoxFuture<'static, ()>;

/// Works on due jobs and timers. Several hosts may each run one on the same store.
pub struct Worker(pub(in crate::flow) Arc<Flow>);

// === impl Worker ===

impl Worker {
    /// Returns when what was under way has ended, or the drain time is over: then other hosts go on with it.
    pub async fn run(self, shutdown: CancellationToken) {
        let flow = &self.0;
        let permits = Arc::new(Semaphore::new(flow.config.work_in_flight));
        each_round(flow, &permits, &shutdown).await;
        // What this host commits from now on is for others.
        flow.platform.store.pulse().set_busy(true);
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
async fn each_round(flow: &Arc<Flow>, permits: &Arc<Semaphore>, shutdown: &CancellationToken) {
    let (store, clock) = (&flow.platform.store, &flow.platform.clock);
    let mut pulse = store.pulse().work();
    let mut hosts = flow.platform.hosts().changes();
    let mut agenda = Agenda::new(store.sharing(), Partition::all(store.partitions()), clock.now_ms());
    loop {
        pulse.mark_unchanged();
        let has_changed_hosts = hosts.has_changed().unwrap_or(false);
        if has_changed_hosts {
            hosts.mark_unchanged();
            let of_hosts = flow.platform.hosts();
            agenda.prefer(|partition| of_hosts.is_preferred(partition));
        }
        agenda.hear(clock.now_ms(), &store.pulse().take());
        let Asked { to_lease, to_look_at } = agenda.due(clock.now_ms());
        if !to_look_at.is_empty() {
            ask(flow, &mut agenda, &to_look_at, Vec::new()).await;
        }
        if !to_lease.is_empty() {
            let Some(free) = free_permits(flow, permits, shutdown).await else { return };
            let has_leased = ask(flow, &mut agenda, &to_lease, free).await;
            if has_leased && agenda.next_ms() <= clock.now_ms() {
                continue;
            }
        }
        // All are cancel-safe: nothing is taken by waiting.
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = pulse.changed() => {}
            _ = hosts.changed() => hosts.mark_changed(),
            () = clock.sleep_until(agenda.next_ms().max(clock.now_ms() + 1)) => {}
        }
    }
}

/// One look: what is leased is worked on aside, the rest is noted. Without permits nothing is leased. Tells whether anything
/// was.
async fn ask(flow: &Arc<Flow>, agenda: &mut Agenda, asked: &[Partition], free: Vec<OwnedSemaphorePermit>) -> bool {
    let max = u32::try_from(free.len()).unwrap_or(store::MAX_LEASES);
    let now_ms = flow.platform.clock.now_ms();
    let request = LeaseRequest { now_ms, lease_ms: flow.config.lease_ms, max };
    let LeasedWork { jobs, ticks, looked } = match flow.platform.store.lease(asked, request, shares(flow)).await {
        Ok(leased) => leased,
        Err(error) => {
            tracing::warn!(%error, "no work could be leased");
            agenda.fail(flow.platform.clock.now_ms(), asked);
            return false;
        }
    };
    agenda.note(now_ms, &looked);
    let has_leased = !jobs.is_empty() || !ticks.is_empty();
    let ticks = ticks.into_iter().map(|tick| perform_tick(flow, tick));
    let work = ticks.chain(jobs.into_iter().map(|job| perform_job(flow, job)));
    for (performing, permit) in work.zip(free) {
        flow.tasks.spawn(hold(permit, performing));
    }
    has_leased
}

/// Jobs of a tenant that has all it may have stay in the queue; when one of them ends, a pulse says so.
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

/// At least one, when there is one; other hosts are told of this one's work while there is none.
async fn free_permits(
    flow: &Flow,
    permits: &Arc<Semaphore>,
    shutdown: &CancellationToken,
) -> Option<Vec<OwnedSemaphorePermit>> {
    let pulse = flow.platform.store.pulse();
    let first = match permits.clone().try_acquire_owned() {
        Ok(first) => first,
        Err(_) => {
            pulse.set_busy(true);
            let first = tokio::select! {
                biased;
                () = shutdown.cancelled() => None,
                permit = permits.clone().acquire_owned() => permit.ok(),
            };
            pulse.set_busy(false);
            first?
        }
    };
    let mut free = vec![first];
    free.extend(std::iter::from_fn(|| permits.clone().try_acquire_owned().ok()).take(LEASED_AT_ONCE - 1));
    Some(free)
}

async fn hold(permit: OwnedSemaphorePermit, performing: Performing) {
    performing.await;
    drop(permit);
}
