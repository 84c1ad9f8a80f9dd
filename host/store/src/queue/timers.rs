//! The order of timers in one partition, in memory: when each is due and who works on its tick.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::{LeaseRequest, Tenant, TimerLease};

/// A tenant's timer, under the name Redis sorts it by: `tenant:timer`. One text for both collections: a server has one for every
/// paused run.
pub(crate) type TimerKey = Arc<str>;

#[derive(Debug, Default, Clone)]
pub(crate) struct Timers {
    timers: HashMap<TimerKey, Timer>,
    order: BTreeSet<(u64, TimerKey)>,
}

#[derive(Debug, Clone)]
struct Timer {
    tenant: Tenant,
    available_ms: u64,
    token: Option<u64>,
}

impl Timers {
    pub(crate) fn set(&mut self, tenant: &Tenant, timer: &str, due_ms: u64) {
        self.clear(tenant, timer);
        let key = key(tenant, timer);
        self.order.insert((due_ms, key.clone()));
        self.timers.insert(key, Timer { tenant: tenant.clone(), available_ms: due_ms, token: None });
    }

    pub(crate) fn clear(&mut self, tenant: &Tenant, timer: &str) {
        let key = key(tenant, timer);
        if let Some(timer) = self.timers.remove(&key) {
            self.order.remove(&(timer.available_ms, key));
        }
    }

    pub(crate) fn holds(&self, tenant: &Tenant, lease: &TimerLease) -> bool {
        let timer = self.timers.get(&key(tenant, &lease.timer));
        timer.is_some_and(|timer| timer.token == Some(lease.token))
    }

    pub(crate) fn lease(
        &mut self,
        request: LeaseRequest,
        mut next_token: impl FnMut() -> u64,
    ) -> Vec<(Tenant, TimerLease)> {
        let mut leased = Vec::new();
        while leased.len() < request.bounded_max() && self.order.first().is_some_and(|(at, _)| *at <= request.now_ms) {
            let Some((_, key)) = self.order.pop_first() else { break };
            let Some(timer) = self.timers.get_mut(&key) else { continue };
            let token = next_token();
            timer.available_ms = request.until_ms();
            timer.token = Some(token);
            let name = key.get(timer.tenant.as_str().len() + 1..).unwrap_or_default().to_owned();
            leased.push((timer.tenant.clone(), TimerLease { timer: name, token }));
            self.order.insert((timer.available_ms, key));
        }
        leased
    }

    pub(crate) fn extend(&mut self, tenant: &Tenant, timer: &str, until_ms: u64) {
        let key = key(tenant, timer);
        if let Some(timer) = self.timers.get_mut(&key) {
            // The text that is there already, and not another of the same content.
            if let Some((_, key)) = self.order.take(&(timer.available_ms, key)) {
                self.order.insert((until_ms, key));
            }
            timer.available_ms = until_ms;
        }
    }

    /// Ticks keep the leases that they had in an earlier order of the same timers.
    pub(crate) fn keep_leases(&mut self, earlier: &Self) {
        for (key, held) in earlier.timers.iter().filter(|(_, timer)| timer.token.is_some()) {
            if let Some(timer) = self.timers.get_mut(key) {
                self.order.remove(&(timer.available_ms, key.clone()));
                self.order.insert((held.available_ms, key.clone()));
                *timer = held.clone();
            }
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.timers.len() as u64
    }

    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.order.first().map(|(at, _)| *at)
    }
}

fn key(tenant: &Tenant, timer: &str) -> TimerKey {
    format!("{tenant}:{timer}").into()
}
