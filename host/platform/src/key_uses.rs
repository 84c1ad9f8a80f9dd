//! The last use of each API key: noted in memory by each request, stored once a minute by a task.
//!
//! A request must not cost a write. What was not stored when a process is killed is lost: a minute of uses at most.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use store::Tenant;

/// Keys in use within one minute; what goes beyond is not noted.
const KEYS: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct KeyUses(Mutex<HashMap<String, KeyUse>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyUse {
    pub(crate) tenant: Tenant,
    pub(crate) used_at: u64,
}

// === impl KeyUses ===

impl KeyUses {
    pub(crate) fn note(&self, tenant: &Tenant, key: &str, used_at: u64) {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = uses.get_mut(key) {
            known.used_at = known.used_at.max(used_at);
            return;
        }
        if uses.len() < KEYS {
            uses.insert(key.to_owned(), KeyUse { tenant: tenant.clone(), used_at });
        }
    }

    /// The use that is not stored yet.
    pub(crate) fn last(&self, key: &str) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).map(|known| known.used_at)
    }

    /// Everything that was noted since.
    pub(crate) fn take(&self) -> HashMap<String, KeyUse> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_that_are_noted_are_bounded() {
        let (uses, tenant) = (KeyUses::default(), Tenant::parse("t").unwrap());
        (0..=KEYS).for_each(|number| uses.note(&tenant, &format!("key_{number}"), 1));
        uses.note(&tenant, "key_0", 2);

        assert_eq!((uses.last("key_0"), uses.last(&format!("key_{KEYS}"))), (Some(2), None));
        assert_eq!(uses.take().len(), KEYS);
        assert_eq!(uses.last("key_0"), None);
    }
}
