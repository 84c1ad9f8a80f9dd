//! The order of work in one partition, in memory: lanes, turns and leases.
//!
//! Pure and clockless. The embedded engine keeps its index of durable jobs here and the fake keeps
//! everything here; `redis/queue.lua` says the same with sorted sets, step for step, so that the
//! contract suite can compare even the order of leases.
//!
//! - A *head* is a job that may be leased: any job without a lane, and the first of each lane. It is
//!   available from its due time on, and a leased one from the end of its lease on: one sorted set.
//! - A tenant *waits* under the time of its earliest head; a tenant whose time has come is on the
//!   *ring*, and the ring gives one job per turn.

pub(crate) mod index;
pub(crate) mod timers;

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::batch::Queued;
use crate::{JobId, JobLease, LanePosition, LeaseRequest, Leased, Shares, Tenant};

#[derive(Debug, Default, Clone)]
pub(crate) struct Queue {
    jobs: HashMap<JobId, Slot>,
    tenants: HashMap<Tenant, Backlog>,
    waiting: BTreeSet<(u64, Tenant)>,
    ring: VecDeque<Tenant>,
}

#[derive(Debug, Clone)]
struct Slot {
    tenant: Tenant,
    lane: Option<Box<str>>,
    available_ms: u64,
    token: Option<u64>,
    bytes: u64,
}

/// A [`crate::Head`] without what is in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitingHead {
    pub(crate) job: JobId,
    pub(crate) available_ms: u64,
    pub(crate) behind: u64,
}

#[derive(Debug, Default, Clone)]
struct Backlog {
    heads: BTreeSet<(u64, JobId)>,
    lanes: HashMap<Box<str>, VecDeque<JobId>>,
    /// The time this tenant waits under; `None` while it is on the ring or has nothing.
    waits_until_ms: Option<u64>,
    on_ring: bool,
    queued: Queued,
}

impl Queue {
    pub(crate) fn enqueue(&mut self, tenant: &Tenant, job: JobId, lane: Option<&str>, (due_ms, bytes): (u64, u64)) {
        let backlog = self.tenants.entry(tenant.clone()).or_default();
        backlog.queued.jobs += 1;
        backlog.queued.bytes += bytes;
        let is_head = match lane {
            None => true,
            Some(lane) => {
                let line = backlog.lanes.entry(lane.into()).or_default();
                line.push_back(job);
                line.len() == 1
            }
        };
        if is_head {
            backlog.heads.insert((due_ms, job));
        }
        let lane = lane.map(Into::into);
        self.jobs.insert(job, Slot { tenant: tenant.clone(), lane, available_ms: due_ms, token: None, bytes });
        self.settle(tenant);
    }

    /// All jobs of a tenant, due or not.
    pub(crate) fn queued(&self, tenant: &Tenant) -> Queued {
        self.tenants.get(tenant).map(|backlog| backlog.queued).unwrap_or_default()
    }

    /// The heads of a tenant by the time they are available from, each with how many of its lane wait for it.
    pub(crate) fn heads(&self, tenant: &Tenant, skip: usize, limit: usize) -> Vec<WaitingHead> {
        let Some(backlog) = self.tenants.get(tenant) else { return Vec::new() };
        let behind = |job: JobId| {
            let lane = self.jobs.get(&job).and_then(|slot| slot.lane.as_deref());
            let line = lane.and_then(|lane| backlog.lanes.get(lane));
            line.map_or(0, |line| line.len().saturating_sub(1) as u64)
        };
        let heads = backlog.heads.iter().skip(skip).take(limit);
        heads
            .map(|(available_ms, job)| WaitingHead { job: *job, available_ms: *available_ms, behind: behind(*job) })
            .collect()
    }

    pub(crate) fn holds(&self, tenant: &Tenant, lease: JobLease) -> bool {
        self.jobs.get(&lease.job).is_some_and(|slot| slot.tenant == *tenant && slot.token == Some(lease.token))
    }

    /// Up to `max` jobs, one per tenant and turn. `next_token` makes each lease's token. A tenant without a share left
    /// goes to the end of the ring.
    pub(crate) fn lease(
        &mut self,
        request: LeaseRequest,
        shares: &mut Shares,
        mut next_token: impl FnMut() -> u64,
    ) -> Leased<(Tenant, JobLease)> {
        self.wake(request.now_ms);
        let (mut items, mut full) = (Vec::new(), Vec::new());
        while items.len() < request.bounded_max() {
            let Some(tenant) = self.ring.pop_front() else { break };
            if !shares.has_room(&tenant) {
                full.push(tenant);
                continue;
            }
            let head = self.tenants.get_mut(&tenant).and_then(|backlog| {
                backlog.on_ring = false;
                backlog.heads.first().copied().filter(|(at, _)| *at <= request.now_ms)
            });
            if let Some((_, job)) = head {
                let token = next_token();
                self.move_head(job, request.until_ms(), Some(token));
                shares.take(&tenant);
                items.push((tenant.clone(), JobLease { job, token }));
            }
            self.take_turn(tenant, request.now_ms);
        }
        let next_due_ms = self.next_due_ms(request.now_ms);
        self.ring.extend(full);
        Leased { items, next_due_ms }
    }

    /// How many jobs there are, and since when the longest waiting one could be worked on. Looks at each tenant whose
    /// turn it is, and at no other.
    pub(crate) fn load(&self, now_ms: u64) -> (u64, Option<u64>) {
        let first_of = |tenant| self.tenants.get(tenant).and_then(|backlog: &Backlog| backlog.heads.first());
        let on_ring = self.ring.iter().filter_map(first_of).map(|(at, _)| *at);
        let waiting = self.waiting.first().map(|(at, _)| *at);
        (self.jobs.len() as u64, on_ring.chain(waiting).min().filter(|at| *at <= now_ms))
    }

    /// When to ask again; `now_ms` itself when tenants are still on the ring.
    fn next_due_ms(&self, now_ms: u64) -> Option<u64> {
        if !self.ring.is_empty() {
            return Some(now_ms);
        }
        self.waiting.first().map(|(at, _)| *at)
    }

    pub(crate) fn extend(&mut self, lease: JobLease, until_ms: u64) {
        if let Some(tenant) = self.move_head(lease.job, until_ms, Some(lease.token)) {
            self.settle(&tenant);
        }
    }

    /// Heads keep the leases that they had in an earlier queue of the same jobs.
    pub(crate) fn keep_leases(&mut self, earlier: &Self) {
        for (job, held) in &earlier.jobs {
            let is_head = self.jobs.get(job).is_some_and(|slot| {
                let backlog = self.tenants.get(&slot.tenant);
                backlog.is_some_and(|backlog| backlog.heads.contains(&(slot.available_ms, *job)))
            });
            if is_head && let Some(tenant) = self.move_head(*job, held.available_ms, held.token) {
                self.settle(&tenant);
            }
        }
    }

    pub(crate) fn remove(&mut self, job: JobId) {
        let Some(slot) = self.jobs.remove(&job) else { return };
        if let Some(backlog) = self.tenants.get_mut(&slot.tenant) {
            backlog.heads.remove(&(slot.available_ms, job));
            backlog.queued.jobs -= 1;
            backlog.queued.bytes -= slot.bytes;
        }
        self.advance_lane(&slot.tenant, slot.lane.as_deref());
        self.settle(&slot.tenant);
    }

    /// `bytes` are those of a new payload.
    pub(crate) fn reschedule(&mut self, job: JobId, (due_ms, bytes): (u64, Option<u64>), lane_position: LanePosition) {
        let Some(tenant) = self.move_head(job, due_ms, None) else { return };
        if let (Some(bytes), Some(slot), Some(backlog)) =
            (bytes, self.jobs.get_mut(&job), self.tenants.get_mut(&tenant))
        {
            backlog.queued.bytes = backlog.queued.bytes - slot.bytes + bytes;
            slot.bytes = bytes;
        }
        if lane_position == LanePosition::Leave {
            let lane = self.jobs.get_mut(&job).and_then(|slot| slot.lane.take());
            self.advance_lane(&tenant, lane.as_deref());
        }
        self.settle(&tenant);
    }

    /// Tenants whose time has come join the ring, the longest waiting first.
    fn wake(&mut self, now_ms: u64) {
        while let Some((at, _)) = self.waiting.first()
            && *at <= now_ms
        {
            let Some((_, tenant)) = self.waiting.pop_first() else { break };
            if let Some(backlog) = self.tenants.get_mut(&tenant) {
                backlog.waits_until_ms = None;
                backlog.on_ring = true;
                self.ring.push_back(tenant);
            }
        }
    }

    /// After its turn a tenant with more due work goes to the end of the ring.
    fn take_turn(&mut self, tenant: Tenant, now_ms: u64) {
        if let Some(backlog) = self.tenants.get_mut(&tenant)
            && backlog.heads.first().is_some_and(|(at, _)| *at <= now_ms)
        {
            backlog.on_ring = true;
            self.ring.push_back(tenant);
            return;
        }
        self.settle(&tenant);
    }

    fn move_head(&mut self, job: JobId, available_ms: u64, token: Option<u64>) -> Option<Tenant> {
        let slot = self.jobs.get_mut(&job)?;
        let backlog = self.tenants.get_mut(&slot.tenant)?;
        backlog.heads.remove(&(slot.available_ms, job));
        backlog.heads.insert((available_ms, job));
        slot.available_ms = available_ms;
        slot.token = token;
        Some(slot.tenant.clone())
    }

    /// The first of the lane is done or has left: the next becomes a head.
    fn advance_lane(&mut self, tenant: &Tenant, lane: Option<&str>) {
        let (Some(lane), Some(backlog)) = (lane, self.tenants.get_mut(tenant)) else { return };
        let Some(line) = backlog.lanes.get_mut(lane) else { return };
        line.pop_front();
        let Some(next) = line.front() else {
            backlog.lanes.remove(lane);
            return;
        };
        if let Some(slot) = self.jobs.get(next) {
            backlog.heads.insert((slot.available_ms, *next));
        }
    }

    /// Puts a tenant that is not on the ring where its earliest head says.
    fn settle(&mut self, tenant: &Tenant) {
        let Some(backlog) = self.tenants.get_mut(tenant) else { return };
        if backlog.on_ring {
            return;
        }
        let earliest = backlog.heads.first().map(|(at, _)| *at);
        if backlog.waits_until_ms != earliest {
            if let Some(at) = backlog.waits_until_ms {
                self.waiting.remove(&(at, tenant.clone()));
            }
            if let Some(at) = earliest {
                self.waiting.insert((at, tenant.clone()));
            }
            backlog.waits_until_ms = earliest;
        }
        if earliest.is_none() {
            self.tenants.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests;
