//! Leases: which host may work on a due job or timer tick.
//!
//! A lease is a fencing token. Its expiry makes the job available again; the token stays valid until the
//! job is leased to another holder. So work that finishes late and was not repeated still counts, and
//! the commit refuses work that was repeated.
//!
//! A lane is the ordering key of a job: jobs with the same lane run one at a time, in order of arrival.
//! Tenants of a partition take turns, so a backlog of one does not delay another.

use std::collections::HashMap;

use async_trait::async_trait;
use bytes::Bytes;

use crate::batch::MAX_MS;
use crate::{CommitError, EntryId, Error, Load, Partition, Pulse, Tenant};

/// Greatest `max` of a lease call; a larger one is taken as this.
pub const MAX_LEASES: u32 = 1000;

/// Obligations: a job is leased only when due, only as the first of its lane, and to one holder at
/// a time; tenants with due jobs take turns; an expired lease makes the job available again; a job of a tenant
/// without a share left stays where it is.
#[async_trait]
pub trait Work: Send + Sync {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error>;

    /// Due ticks, the most overdue first.
    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error>;

    /// Due ticks and jobs together, in as few round trips as the engine needs. What cannot be asked is said of its
    /// partition and holds up no other.
    async fn lease(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<LeasedWork, Error> {
        let ticks = self.lease_timers(partitions, LeaseRequest { max: request.max.div_ceil(2), ..request }).await?;
        let left = request.max.saturating_sub(u32::try_from(ticks.items.len()).unwrap_or(u32::MAX));
        let jobs = self.lease_jobs(partitions, LeaseRequest { max: left, ..request }, shares).await?;
        let next = Next::Due(ticks.next_due_ms.into_iter().chain(jobs.next_due_ms).min());
        let looked = partitions.iter().map(|partition| Looked { partition: *partition, next }).collect();
        Ok(LeasedWork { jobs: jobs.items, ticks: ticks.items, looked })
    }

    /// Moves the end of a lease: later while working, to now for giving it back early.
    async fn extend(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> Result<(), CommitError>;

    /// Moves the end of the hold of a job that was enqueued for this host and not leased. Where only one process has the
    /// store, a hold ends with it, and is not moved.
    async fn extend_hold(&self, _tenant: &Tenant, _job: JobId, _until_ms: u64) -> Result<(), CommitError> {
        Ok(())
    }

    /// What waits in all partitions, for the operator. A look at it: it does not count every job, and no writer waits for
    /// it for long.
    async fn load(&self, now_ms: u64) -> Result<Load, Error>;

    /// What waits of a tenant: the jobs without a lane and the first of each lane, by the time they are available from,
    /// `limit` of them after the first `skip`. For looking at, while it changes.
    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error>;

    /// Wakes tasks that wait for work or events.
    fn pulse(&self) -> &Pulse;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRequest {
    pub now_ms: u64,
    /// At least one millisecond; 0 is taken as 1.
    pub lease_ms: u64,
    pub max: u32,
}

/// How many jobs each tenant may still be given: a job that cannot be worked on yet is not worth a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// What a tenant may have under way.
    pub each: u32,
    /// Tenants that are not named have nothing.
    pub under_way: HashMap<Tenant, u32>,
}

/// What was leased, and when to ask again: at `next_due_ms` unless a pulse comes first. A time that
/// has passed means that there is more right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased<Item> {
    pub items: Vec<Item>,
    pub next_due_ms: Option<u64>,
}

/// Jobs and ticks that were leased together, and when to ask each partition again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeasedWork {
    pub jobs: Vec<Job>,
    pub ticks: Vec<Tick>,
    pub looked: Vec<Looked>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    pub partition: Partition,
    pub next: Next,
}

/// When there is work of a partition again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Unless a pulse comes first. A time that has passed means that there is more right now.
    Due(Option<u64>),
    /// All that could be leased was leased before the partition's turn.
    NotAsked,
    /// Its server did not answer.
    Failed,
}

/// Unique among the jobs of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub tenant: Tenant,
    pub lease: JobLease,
    pub lane: Option<String>,
    pub due_ms: u64,
    /// How often the job was rescheduled before.
    pub attempt: u32,
    pub payload: Bytes,
    pub entry: Option<EntryId>,
}

/// A job that may be the next of its lane to run, or has no lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// When it is due; while it is leased, when the lease ends.
    pub available_ms: u64,
    /// How often the job was rescheduled before.
    pub attempt: u32,
    /// Jobs of its lane that wait for it.
    pub behind: u64,
    pub payload: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tick {
    pub tenant: Tenant,
    pub lease: TimerLease,
    /// When the tick was due, however late it is.
    pub due_ms: u64,
    pub schedule: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobLease {
    pub job: JobId,
    pub token: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TimerLease {
    pub timer: String,
    pub token: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    Job(JobLease),
    Timer(TimerLease),
}

impl From<JobLease> for Lease {
    fn from(lease: JobLease) -> Self {
        Self::Job(lease)
    }
}

impl From<TimerLease> for Lease {
    fn from(lease: TimerLease) -> Self {
        Self::Timer(lease)
    }
}

impl Default for Shares {
    /// Any number of jobs.
    fn default() -> Self {
        Self { each: u32::MAX, under_way: HashMap::new() }
    }
}

impl Shares {
    pub(crate) fn has_room(&self, tenant: &Tenant) -> bool {
        self.under_way.get(tenant).is_none_or(|under_way| *under_way < self.each)
    }

    pub(crate) fn take(&mut self, tenant: &Tenant) {
        *self.under_way.entry(tenant.clone()).or_default() += 1;
    }
}

impl LeaseRequest {
    pub(crate) fn until_ms(self) -> u64 {
        self.now_ms.saturating_add(self.lease_ms.max(1)).min(MAX_MS)
    }

    pub(crate) fn bounded_max(self) -> usize {
        usize::try_from(self.max.min(MAX_LEASES)).unwrap_or_default()
    }
}
