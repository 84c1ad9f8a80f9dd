//! Whose turn it is in one partition, as in `queue.rs`, over tenants whose rows are locked and the first of their heads.

use std::collections::{BTreeMap, VecDeque};

use crate::{LeaseRequest, Shares, Tenant};

/// Also of a tenant that shares a call with many.
const LEAST_HEADS: usize = 8;

/// The first heads of a tenant, by the time they are available from.
#[derive(Debug)]
pub(super) struct Heads {
    found: VecDeque<(u64, i64)>,
    asked: usize,
    count: usize,
    leased_until_ms: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Turns {
    /// With the places of those that did not move.
    ring: VecDeque<(Tenant, Option<i64>)>,
    heads: BTreeMap<Tenant, Heads>,
    /// Not on the ring.
    waiting: Vec<Tenant>,
    /// Places that were given so far.
    turns: i64,
}

/// A tenant, its place on the ring and the time of its first head.
pub(super) type Settled = (Tenant, Option<i64>, Option<u64>);

/// How many heads of each tenant are looked at: as many as could be leased, when few tenants share the call.
pub(super) fn heads_of_each(max: usize, tenants: usize) -> usize {
    max.min((2 * max / tenants.max(1)).max(LEAST_HEADS)) + 1
}

// === impl Heads ===

impl Heads {
    pub(super) fn new(asked: usize) -> Self {
        Self { found: VecDeque::new(), asked, count: 0, leased_until_ms: None }
    }

    pub(super) fn add(&mut self, at_ms: u64, job: i64) {
        self.found.push_back((at_ms, job));
        self.count += 1;
    }

    /// There may be more than were looked at.
    fn is_cut(&self) -> bool {
        self.count >= self.asked
    }

    /// When the first is available. Unknown is now.
    fn first_ms(&self, now_ms: u64) -> Option<u64> {
        match self.found.front() {
            Some((at_ms, _)) => Some(self.leased_until_ms.map_or(*at_ms, |until_ms| until_ms.min(*at_ms))),
            None if self.is_cut() => Some(now_ms),
            None => self.leased_until_ms,
        }
    }

    fn take(&mut self, request: LeaseRequest) -> Option<i64> {
        let (_, job) = self.found.pop_front_if(|(at_ms, _)| *at_ms <= request.now_ms)?;
        self.leased_until_ms = Some(request.until_ms());
        Some(job)
    }
}

// === impl Turns ===

impl Turns {
    pub(super) fn new(turns: i64) -> Self {
        Self { ring: VecDeque::new(), heads: BTreeMap::new(), waiting: Vec::new(), turns }
    }

    /// A tenant and its place on the ring, if it has one.
    pub(super) fn add(&mut self, tenant: Tenant, turn: Option<i64>, heads: Heads) {
        match turn {
            Some(turn) => self.ring.push_back((tenant.clone(), Some(turn))),
            None => self.waiting.push(tenant.clone()),
        }
        self.heads.insert(tenant, heads);
    }

    /// Tenants whose time has come join the ring, the longest waiting first.
    pub(super) fn wake(&mut self, now_ms: u64) {
        self.ring.make_contiguous().sort_by_key(|(_, turn)| *turn);
        let first = |tenant: &Tenant| self.heads.get(tenant).and_then(|heads| heads.first_ms(now_ms));
        let mut due: Vec<(u64, Tenant)> = Vec::new();
        self.waiting.retain(|tenant| match first(tenant).filter(|at_ms| *at_ms <= now_ms) {
            Some(at_ms) => {
                due.push((at_ms, tenant.clone()));
                false
            }
            None => true,
        });
        due.sort();
        self.ring.extend(due.into_iter().map(|(_, tenant)| (tenant, None)));
    }

    /// Up to so many jobs, one per tenant and turn, and whether there is more right now.
    pub(super) fn lease(
        &mut self,
        (request, max): (LeaseRequest, usize),
        shares: &mut Shares,
    ) -> (Vec<(Tenant, i64)>, bool) {
        let (mut leased, mut full, mut spent) = (Vec::new(), Vec::new(), Vec::new());
        while leased.len() < max {
            let Some((tenant, _)) = self.ring.pop_front() else { break };
            if !shares.has_room(&tenant) {
                full.push((tenant, None));
                continue;
            }
            let Some(heads) = self.heads.get_mut(&tenant) else { continue };
            if let Some(job) = heads.take(request) {
                shares.take(&tenant);
                leased.push((tenant.clone(), job));
            }
            let is_known = !heads.found.is_empty() || !heads.is_cut();
            match heads.first_ms(request.now_ms).filter(|at_ms| *at_ms <= request.now_ms) {
                Some(_) if is_known => self.ring.push_back((tenant, None)),
                Some(_) => spent.push((tenant, None)),
                None => self.waiting.push(tenant),
            }
        }
        self.ring.extend(spent);
        let has_more = !self.ring.is_empty();
        self.ring.extend(full);
        (leased, has_more)
    }

    /// When the earliest of those is due that were looked at and are not on the ring.
    pub(super) fn waiting_ms(&self) -> Option<u64> {
        let first = |tenant: &Tenant| self.heads.get(tenant)?.first_ms(0);
        self.waiting.iter().filter_map(first).min()
    }

    /// Every tenant as it is now, and how many places were given, if any were.
    pub(super) fn settled(&self) -> (Vec<Settled>, Option<i64>) {
        let mut turns = self.turns;
        let first = |tenant: &Tenant| self.heads.get(tenant).and_then(|heads| heads.first_ms(0));
        let mut settled: Vec<_> = self.waiting.iter().map(|tenant| (tenant.clone(), None, first(tenant))).collect();
        for (tenant, turn) in &self.ring {
            let place = turn.unwrap_or_else(|| {
                turns += 1;
                turns
            });
            settled.push((tenant.clone(), Some(place), first(tenant)));
        }
        (settled, (turns != self.turns).then_some(turns))
    }
}

#[cfg(test)]
mod tests;
