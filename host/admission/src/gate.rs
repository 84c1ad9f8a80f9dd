//! A fair semaphore: a bounded number of permits, granted round robin between tenants that wait.
//!
//! A tenant with a backlog of thousands waits behind its own backlog and delays no other. No tenant may hold every permit,
//! or fill the queue.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::Family;
use tokio::sync::oneshot;

use crate::HashMap;
use crate::load::{Load, Refused};
use crate::{Full, Scope, Share};

/// Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    what: &'static str,
    state: Arc<Mutex<State>>,
}

/// How many may be in, and how many may wait.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub places: Share,
    pub waiting: Share,
}

/// Returned when dropped.
pub struct Permit {
    gate: Gate,
    tenant: Arc<str>,
}

struct State {
    bounds: Bounds,
    running: u64,
    waiting: u64,
    tenants: HashMap<Arc<str>, TenantState>,
    /// Tenants that wait, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    refused: Refused,
}

/// One tenant.
#[derive(Default)]
struct TenantState {
    running: u64,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

// === impl Gate ===

impl Gate {
    pub fn new(what: &'static str, bounds: Bounds) -> Self {
        let (tenants, turns, refused) = (HashMap::default(), VecDeque::new(), Refused::default());
        let state = State { bounds, running: 0, waiting: 0, tenants, turns, refused };
        Self { what, state: Arc::new(Mutex::new(state)) }
    }

    /// Waits for a permit. Cancel-safe: a permit granted to a cancelled caller goes to the next.
    pub async fn enter(&self, tenant: &str) -> Result<Permit, Full> {
        match self.ask(tenant)? {
            Entry::Admitted(permit) => Ok(permit),
            Entry::Waiting(granted) => granted.await.map_err(|_| Full { what: self.what, scope: Scope::Host }),
        }
    }

    /// A permit, or a place in the queue for one.
    pub(crate) fn ask(&self, tenant: &str) -> Result<Entry, Full> {
        let mut state = self.lock();
        let entry = state.enter(self, tenant).inspect_err(|scope| state.refused.add(*scope));
        entry.map_err(|scope| Full { what: self.what, scope })
    }

    /// A permit, if one is free now.
    pub fn try_enter(&self, tenant: &str) -> Option<Permit> {
        let mut state = self.lock();
        let places = state.bounds.places;
        let is_free = state.running < places.total
            && state
                .tenants
                .get(tenant)
                .is_none_or(|tenant| tenant.running < places.per_tenant && tenant.waiting.is_empty());
        match is_free.then(|| state.enter(self, tenant)) {
            Some(Ok(Entry::Admitted(permit))) => Some(permit),
            _ => None,
        }
    }

    /// The same beyond the bounds, up to twice as many: for what others that are in may be waiting for.
    pub async fn enter_urgently(&self, tenant: &str) -> Result<Permit, Full> {
        if let Some(permit) = self.lock().enter_urgently(self, tenant) {
            return Ok(permit);
        }
        self.enter(tenant).await
    }

    /// Replaces the bounds. What is in stays; what waits and now fits gets its permit.
    pub fn set_bounds(&self, bounds: Bounds) {
        self.lock().bounds = bounds;
        while self.grant_next() {}
    }

    /// Grants a permit to the next that waits; `false` when there is no place, or nothing that waits.
    fn grant_next(&self) -> bool {
        loop {
            let next = self.lock().next_grant(self);
            let Some((grant, permit)) = next else { return false };
            if grant.send(permit).is_ok() {
                return true;
            }
        }
    }

    pub fn what(&self) -> &'static str {
        self.what
    }

    /// Which bound keeps a tenant waiting: its own or the host's.
    pub fn short_of(&self, tenant: &str) -> Scope {
        let state = self.lock();
        let is_own = state.tenants.get(tenant).is_some_and(|tenant| tenant.running >= state.bounds.places.per_tenant);
        if is_own { Scope::Tenant } else { Scope::Host }
    }

    /// Whether a tenant would get a permit at once.
    pub fn has_room(&self, tenant: &str) -> bool {
        let state = self.lock();
        let places = state.bounds.places;
        let tenant = state.tenants.get(tenant);
        state.running < places.total
            && tenant.is_none_or(|tenant| tenant.running < places.per_tenant && tenant.waiting.is_empty())
    }

    /// How many are in, how many wait and how many were refused.
    pub fn families(&self) -> Vec<Family> {
        let state = self.lock();
        let (used, limit) = (state.running, state.bounds.places.total);
        let load = Load { what: self.what, used, limit, waiting: Some(state.waiting), refused: state.refused };
        drop(state);
        load.families()
    }

    /// How many are in, and how many wait.
    #[cfg(test)]
    fn load(&self) -> (u64, u64) {
        let state = self.lock();
        (state.running, state.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit(&self, tenant: &Arc<str>) -> Permit {
        Permit { gate: self.clone(), tenant: tenant.clone() }
    }
}

pub(crate) enum Entry {
    Admitted(Permit),
    Waiting(oneshot::Receiver<Permit>),
}

// === impl State ===

impl State {
    fn enter(&mut self, gate: &Gate, name: &str) -> Result<Entry, Scope> {
        let name: Arc<str> = match self.tenants.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        let tenant = self.tenants.entry(name.clone()).or_default();
        let Bounds { places, waiting } = self.bounds;
        if self.running < places.total && tenant.running < places.per_tenant && tenant.waiting.is_empty() {
            self.running += 1;
            tenant.running += 1;
            return Ok(Entry::Admitted(gate.permit(&name)));
        }
        if tenant.waiting.len() as u64 >= waiting.per_tenant {
            let before = tenant.waiting.len();
            tenant.waiting.retain(|grant| !grant.is_closed());
            self.waiting -= (before - tenant.waiting.len()) as u64;
            if tenant.waiting.len() as u64 >= waiting.per_tenant {
                return Err(Scope::Tenant);
            }
        }
        if self.waiting >= waiting.total {
            if tenant.running == 0 && tenant.waiting.is_empty() {
                self.tenants.remove(&name);
            }
            return Err(Scope::Host);
        }
        let (grant, granted) = oneshot::channel();
        if tenant.waiting.is_empty() {
            self.turns.push_back(name);
        }
        tenant.waiting.push_back(grant);
        self.waiting += 1;
        Ok(Entry::Waiting(granted))
    }

    fn enter_urgently(&mut self, gate: &Gate, tenant: &str) -> Option<Permit> {
        let Share { total, per_tenant } = self.bounds.places;
        let name: Arc<str> = match self.tenants.get_key_value(tenant) {
            Some((name, _)) => name.clone(),
            None => tenant.into(),
        };
        if self.running >= total.saturating_mul(2) {
            return None;
        }
        let tenant = self.tenants.entry(name.clone()).or_default();
        if tenant.running >= per_tenant.saturating_mul(2) {
            return None;
        }
        self.running += 1;
        tenant.running += 1;
        Some(gate.permit(&name))
    }

    /// Takes back a permit. Granting it to the next happens outside of the lock, because a grant that is not taken drops
    /// its permit and comes back here.
    fn leave(&mut self, tenant: &Arc<str>) {
        self.running -= 1;
        if let Some(left) = self.tenants.get_mut(tenant) {
            left.running -= 1;
            if left.running == 0 && left.waiting.is_empty() {
                self.tenants.remove(tenant);
            }
        }
    }

    fn next_grant(&mut self, gate: &Gate) -> Option<(oneshot::Sender<Permit>, Permit)> {
        let Share { total, per_tenant } = self.bounds.places;
        if self.running >= total {
            return None;
        }
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let Some(tenant) = self.tenants.get_mut(&name) else { continue };
            if tenant.running >= per_tenant {
                self.turns.push_back(name);
                continue;
            }
            // Cancelled callers are skipped here: each would cost a level of recursion in `Permit::drop`.
            let Some(grant) = next_waiting(tenant, &mut self.waiting) else {
                if tenant.running == 0 {
                    self.tenants.remove(&name);
                }
                continue;
            };
            self.running += 1;
            tenant.running += 1;
            if !tenant.waiting.is_empty() {
                self.turns.push_back(name.clone());
            }
            return Some((grant, gate.permit(&name)));
        }
        None
    }
}

fn next_waiting(tenant: &mut TenantState, waiting: &mut u64) -> Option<oneshot::Sender<Permit>> {
    loop {
        let grant = tenant.waiting.pop_front()?;
        *waiting -= 1;
        if !grant.is_closed() {
            return Some(grant);
        }
    }
}

// === impl Permit ===

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.leave(&self.tenant);
        loop {
            let next = state.next_grant(&self.gate);
            drop(state);
            let Some((grant, permit)) = next else { return };
            if grant.send(permit).is_ok() {
                return;
            }
            state = self.gate.lock();
        }
    }
}

#[cfg(test)]
mod tests;
