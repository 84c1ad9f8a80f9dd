//! The order of work of all partitions, and who holds which lease.

use std::collections::{HashMap, HashSet};

use super::{Queue, WaitingHead, timers::Timers};
use crate::batch::MAX_MS;
use crate::{
    Batch, JobId, JobLease, LanePosition, Lease, LeaseRequest, Leased, Load, MAX_LEASES, Op, Partition, Shares, Tenant,
    TimerLease,
};

#[derive(Clone)]
pub(crate) struct Index {
    partitions: u16,
    waiting: HashMap<Partition, Waiting>,
    next_job: u64,
    next_token: u64,
    /// Where the next round over the partitions begins, so that none is always last.
    rounds: usize,
}

#[derive(Default, Clone)]
struct Waiting {
    queue: Queue,
    timers: Timers,
}

/// What a batch does to the order of work, once it is known to succeed.
pub(crate) enum Change {
    Enqueue {
        job: JobId,
        lane: Option<String>,
        due_ms: u64,
        bytes: u64,
    },
    Remove(JobId),
    /// With the bytes of a new payload.
    Reschedule {
        job: JobId,
        due_ms: u64,
        bytes: Option<u64>,
        lane_position: LanePosition,
    },
    SetTimer {
        timer: String,
        due_ms: u64,
    },
    ClearTimer {
        timer: String,
    },
}

impl Index {
    pub(crate) fn new(partitions: u16, next_token: u64) -> Self {
        Self { partitions, waiting: HashMap::new(), next_job: 1, next_token, rounds: 0 }
    }

    pub(crate) fn next_token(&self) -> u64 {
        self.next_token
    }

    pub(crate) fn take_job_id(&mut self) -> JobId {
        let job = JobId(self.next_job);
        self.next_job += 1;
        job
    }

    pub(crate) fn holds(&self, tenant: &Tenant, lease: &Lease) -> bool {
        match lease {
            Lease::Job(lease) => self.holds_job(tenant, *lease),
            Lease::Timer(lease) => self.holds_timer(tenant, lease),
        }
    }

    /// Whether all leases that the operations settle are held, each settled once.
    pub(crate) fn holds_all(&self, tenant: &Tenant, operations: &[Op]) -> bool {
        let mut jobs: HashSet<JobId> = HashSet::new();
        let mut timers: HashSet<&str> = HashSet::new();
        operations.iter().all(|operation| match operation {
            Op::Acknowledge(lease) | Op::Reschedule { lease, .. } => {
                jobs.insert(lease.job) && self.holds_job(tenant, *lease)
            }
            Op::FinishTick { lease, .. } => timers.insert(&lease.timer) && self.holds_timer(tenant, lease),
            Op::SetTimer { timer, .. } | Op::ClearTimer { timer } => {
                timers.insert(timer);
                true
            }
            _ => true,
        })
    }

    /// Whether the jobs of a batch fit beside those that its tenant has in the queue.
    pub(crate) fn fits(&self, batch: &Batch, jobs: u64, bytes: u64) -> bool {
        let Some(room) = batch.room_before(jobs, bytes) else { return false };
        let waiting = self.waiting.get(&batch.tenant.partition(self.partitions));
        let queued = waiting.map(|waiting| waiting.queue.queued(&batch.tenant)).unwrap_or_default();
        queued.jobs <= room.jobs && queued.bytes <= room.bytes
    }

    pub(crate) fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Vec<WaitingHead> {
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let waiting = self.waiting.get(&tenant.partition(self.partitions));
        waiting.map(|waiting| waiting.queue.heads(tenant, size(skip), size(limit.min(MAX_LEASES)))).unwrap_or_default()
    }

    fn holds_job(&self, tenant: &Tenant, lease: JobLease) -> bool {
        self.waiting.get(&tenant.partition(self.partitions)).is_some_and(|waiting| waiting.queue.holds(tenant, lease))
    }

    fn holds_timer(&self, tenant: &Tenant, lease: &TimerLease) -> bool {
        self.waiting.get(&tenant.partition(self.partitions)).is_some_and(|waiting| waiting.timers.holds(tenant, lease))
    }

    pub(crate) fn apply(&mut self, tenant: &Tenant, change: Change) {
        let Waiting { queue, timers } = self.waiting.entry(tenant.partition(self.partitions)).or_default();
        match change {
            Change::Enqueue { job, lane, due_ms, bytes } => {
                self.next_job = self.next_job.max(job.0 + 1);
                queue.enqueue(tenant, job, lane.as_deref(), (due_ms, bytes));
            }
            Change::Remove(job) => queue.remove(job),
            Change::Reschedule { job, due_ms, bytes, lane_position } => {
                queue.reschedule(job, (due_ms, bytes), lane_position);
            }
            Change::SetTimer { timer, due_ms } => timers.set(tenant, &timer, due_ms),
            Change::ClearTimer { timer } => timers.clear(tenant, &timer),
        }
    }

    /// Takes over the leases of an earlier index of the same process.
    pub(crate) fn keep_leases(&mut self, earlier: &Self) {
        for (partition, earlier) in &earlier.waiting {
            if let Some(waiting) = self.waiting.get_mut(partition) {
                waiting.queue.keep_leases(&earlier.queue);
                waiting.timers.keep_leases(&earlier.timers);
            }
        }
    }

    pub(crate) fn lease_jobs(
        &mut self,
        partitions: &[Partition],
        request: LeaseRequest,
        mut shares: Shares,
    ) -> Leased<(Tenant, JobLease)> {
        let partitions = self.next_round(partitions);
        let token = &mut self.next_token;
        lease_each(&mut self.waiting, &partitions, request, |waiting, request| {
            waiting.queue.lease(request, &mut shares, || take(token))
        })
    }

    pub(crate) fn lease_timers(
        &mut self,
        partitions: &[Partition],
        request: LeaseRequest,
    ) -> Leased<(Tenant, TimerLease)> {
        let partitions = self.next_round(partitions);
        let token = &mut self.next_token;
        lease_each(&mut self.waiting, &partitions, request, |waiting, request| {
            let items = waiting.timers.lease(request, || take(token));
            Leased { items, next_due_ms: waiting.timers.next_due_ms() }
        })
    }

    pub(crate) fn load(&self, now_ms: u64) -> Load {
        let of_one = |Waiting { queue, timers }: &Waiting| {
            let (jobs, oldest_job_ms) = queue.load(now_ms);
            let oldest_tick_ms = timers.next_due_ms().filter(|due_ms| *due_ms <= now_ms);
            Load { jobs, oldest_job_ms, timers: timers.count(), oldest_tick_ms, size_bytes: None }
        };
        self.waiting.values().map(of_one).fold(Load::default(), Load::plus)
    }

    fn next_round(&mut self, partitions: &[Partition]) -> Vec<Partition> {
        self.rounds = self.rounds.wrapping_add(1);
        let first = self.rounds % partitions.len().max(1);
        partitions.iter().copied().cycle().skip(first).take(partitions.len()).collect()
    }

    /// False when the lease is lost.
    pub(crate) fn extend(&mut self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> bool {
        if !self.holds(tenant, lease) {
            return false;
        }
        let Waiting { queue, timers } = self.waiting.entry(tenant.partition(self.partitions)).or_default();
        match lease {
            Lease::Job(lease) => queue.extend(*lease, until_ms.min(MAX_MS)),
            Lease::Timer(lease) => timers.extend(tenant, &lease.timer, until_ms.min(MAX_MS)),
        }
        true
    }
}

fn lease_each<Item>(
    waiting: &mut HashMap<Partition, Waiting>,
    partitions: &[Partition],
    mut request: LeaseRequest,
    mut lease: impl FnMut(&mut Waiting, LeaseRequest) -> Leased<Item>,
) -> Leased<Item> {
    request.max = request.max.min(MAX_LEASES);
    let mut all = Leased { items: Vec::new(), next_due_ms: None };
    for partition in partitions {
        let Some(waiting) = waiting.get_mut(partition) else { continue };
        let leased = lease(waiting, request);
        request.max = request.max.saturating_sub(u32::try_from(leased.items.len()).unwrap_or(u32::MAX));
        all.items.extend(leased.items);
        all.next_due_ms = all.next_due_ms.into_iter().chain(leased.next_due_ms).min();
    }
    all
}

fn take(token: &mut u64) -> u64 {
    *token += 1;
    *token
}
