//! Limits concurrent work for one name (a tenant, a destination), and pauses it after failures.
//!
//! Work that is not admitted goes back to the queue, so that one name's backlog does not hold workers that others could use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// When a name has as much under way as it may have, look again this much later, and each refused one a little after the
/// one before: a backlog of thousands must not ask thousands of times a second.
const BUSY_MS: u64 = 100;
const BETWEEN_LOOKS_MS: u64 = 1;
/// The pause after the first failure; each further one doubles it.
const PAUSE_MS: u64 = 1000;
const PAUSE_DOUBLINGS: u32 = 6;
/// Names held at once. Those with nothing under way only remember a pause.
const NAMES_HELD: usize = 65_536;

pub(crate) struct Gate {
    limit: usize,
    held: Mutex<HashMap<String, Name>>,
}

/// One piece of work under way; returned when dropped.
pub(crate) struct Permit {
    gate: Arc<Gate>,
    name: String,
}

#[derive(Clone, Copy, Default)]
struct Name {
    under_way: usize,
    failures: u32,
    paused_until_ms: u64,
    /// When the last one that was refused looks again.
    looks_at_ms: u64,
}

// === impl Gate ===

impl Gate {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), held: Mutex::default() })
    }

    /// A permit, or when to look again.
    pub(crate) fn enter(self: &Arc<Self>, name: &str, now_ms: u64) -> Result<Permit, u64> {
        let mut held = self.lock();
        if held.len() >= NAMES_HELD {
            held.retain(|_, name| name.under_way > 0 || name.paused_until_ms > now_ms);
        }
        let state = held.entry(name.to_owned()).or_default();
        if state.paused_until_ms > now_ms {
            return Err(state.paused_until_ms);
        }
        // One at a time finds out whether a destination that failed has recovered.
        let limit = if state.failures > 0 { 1 } else { self.limit };
        if state.under_way >= limit {
            state.looks_at_ms = state.looks_at_ms.saturating_add(BETWEEN_LOOKS_MS).max(now_ms.saturating_add(BUSY_MS));
            return Err(state.looks_at_ms);
        }
        state.under_way += 1;
        Ok(Permit { gate: Arc::clone(self), name: name.to_owned() })
    }

    /// Names with work under way, and how much.
    pub(crate) fn under_way(&self) -> Vec<(String, usize)> {
        let held = self.lock();
        let busy = held.iter().filter(|(_, name)| name.under_way > 0);
        busy.map(|(name, state)| (name.clone(), state.under_way)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Name>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Permit ===

impl Permit {
    /// Answers whether the name had as much under way as it may have, so that there is news for what waits.
    pub(crate) fn leave(self) -> bool {
        let under_way = self.gate.lock().get(&self.name).map_or(0, |name| name.under_way);
        under_way >= self.gate.limit
    }

    pub(crate) fn succeeded(&self) {
        if let Some(name) = self.gate.lock().get_mut(&self.name) {
            name.failures = 0;
        }
    }

    pub(crate) fn failed(&self, now_ms: u64) {
        if let Some(name) = self.gate.lock().get_mut(&self.name) {
            let pause_ms = PAUSE_MS << name.failures.min(PAUSE_DOUBLINGS);
            name.failures = name.failures.saturating_add(1);
            name.paused_until_ms = now_ms.saturating_add(pause_ms);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.gate.lock();
        if let Some(name) = held.get_mut(&self.name) {
            name.under_way -= 1;
            if name.under_way == 0 && name.failures == 0 {
                held.remove(&self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
