//! Admission: a bounded number of runs at once, and turns taken fairly between lanes.
//!
//! A lane is a tenant. Waiting lanes are served round robin, so a tenant with a backlog of thousands waits behind its own
//! backlog and nobody else does. No lane may hold every place.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Gate {
    state: Arc<Mutex<State>>,
}

/// One place; given back when dropped.
pub(crate) struct Permit {
    gate: Gate,
    lane: Arc<str>,
}

/// Too many are waiting already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many runs are waiting")]
pub(crate) struct Overloaded;

struct State {
    free: usize,
    per_lane: usize,
    waiting: usize,
    max_waiting: usize,
    lanes: HashMap<Arc<str>, Lane>,
    /// Lanes with somebody waiting, in the order of their turns.
    turns: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Lane {
    running: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

// === impl Gate ===

impl Gate {
    pub(crate) fn new(places: usize, per_lane: usize, max_waiting: usize) -> Self {
        let state =
            State { free: places, per_lane, waiting: 0, max_waiting, lanes: HashMap::new(), turns: VecDeque::new() };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Waits for a place. Cancel-safe: a place granted to somebody who left is passed on.
    pub(crate) async fn enter(&self, lane: &str) -> Result<Permit, Overloaded> {
        let granted = match self.lock().enter(self, lane)? {
            Entry::Admitted(permit) => return Ok(permit),
            Entry::Waiting(granted) => granted,
        };
        granted.await.map_err(|_| Overloaded)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way, so a poisoned state is a whole one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit(&self, lane: &Arc<str>) -> Permit {
        Permit { gate: self.clone(), lane: lane.clone() }
    }
}

enum Entry {
    Admitted(Permit),
    Waiting(oneshot::Receiver<Permit>),
}

// === impl State ===

impl State {
    fn enter(&mut self, gate: &Gate, name: &str) -> Result<Entry, Overloaded> {
        let name: Arc<str> = match self.lanes.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        let lane = self.lanes.entry(name.clone()).or_default();
        if self.free > 0 && lane.running < self.per_lane && lane.waiting.is_empty() {
            self.free -= 1;
            lane.running += 1;
            return Ok(Entry::Admitted(gate.permit(&name)));
        }
        if self.waiting == self.max_waiting {
            return Err(Overloaded);
        }
        let (grant, granted) = oneshot::channel();
        if lane.waiting.is_empty() {
            self.turns.push_back(name);
        }
        lane.waiting.push_back(grant);
        self.waiting += 1;
        Ok(Entry::Waiting(granted))
    }

    /// Takes back a place; returns whom to grant it to. Sending happens outside of the lock, because a grant that
    /// nobody takes drops its permit and comes back here.
    fn leave(&mut self, lane: &Arc<str>) {
        self.free += 1;
        if let Some(left) = self.lanes.get_mut(lane) {
            left.running -= 1;
            if left.running == 0 && left.waiting.is_empty() {
                self.lanes.remove(lane);
            }
        }
    }

    fn next_grant(&mut self, gate: &Gate) -> Option<(oneshot::Sender<Permit>, Permit)> {
        if self.free == 0 {
            return None;
        }
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&name) else { continue };
            if lane.running >= self.per_lane {
                self.turns.push_back(name);
                continue;
            }
            let Some(grant) = lane.waiting.pop_front() else { continue };
            self.waiting -= 1;
            self.free -= 1;
            lane.running += 1;
            if !lane.waiting.is_empty() {
                self.turns.push_back(name.clone());
            }
            return Some((grant, gate.permit(&name)));
        }
        None
    }
}

// === impl Permit ===

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.lock().leave(&self.lane);
        loop {
            let next = self.gate.lock().next_grant(&self.gate);
            let Some((grant, permit)) = next else { return };
            if grant.send(permit).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
