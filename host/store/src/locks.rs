//! Locks on values, in memory: for engines that only one process uses.
//!
//! Nothing here is durable. What a commit guarantees rests on [`Precondition::ValueIs`](crate::Precondition); a lock only
//! keeps other owners from making that precondition fail.

use std::collections::HashMap;

use crate::{Batch, CommitError, Op, Tenant};

/// By tenant and scope, then by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locks(HashMap<(Tenant, String), HashMap<String, Lock>>);

#[derive(Debug, Clone)]
struct Lock {
    owner: String,
    until_ms: u64,
}

impl Locks {
    /// Whether every value that the batch writes or locks is free for it.
    pub(crate) fn judge(&self, batch: &Batch) -> Result<(), CommitError> {
        if self.0.is_empty() {
            return Ok(());
        }
        for (operation, op) in batch.operations.iter().enumerate() {
            let (Op::SetValue { scope, key, .. } | Op::RemoveValue { scope, key } | Op::Lock { scope, key, .. }) = op
            else {
                continue;
            };
            let scope = self.0.get(&(batch.tenant.clone(), scope.clone()));
            let lock = scope.and_then(|keys| keys.get(key)).filter(|lock| lock.until_ms > batch.now_ms);
            if lock.is_some_and(|lock| Some(&lock.owner) != batch.lock_owner.as_ref()) {
                return Err(CommitError::Locked { operation });
            }
        }
        Ok(())
    }

    /// Takes and releases the locks of an applied batch.
    pub(crate) fn apply(&mut self, batch: &Batch) {
        let Some(owner) = &batch.lock_owner else { return };
        for op in &batch.operations {
            match op {
                Op::Lock { scope, key, until_ms } => {
                    let keys = self.0.entry((batch.tenant.clone(), scope.clone())).or_default();
                    keys.insert(key.clone(), Lock { owner: owner.clone(), until_ms: *until_ms });
                }
                Op::Unlock { scope } => {
                    let scope = (batch.tenant.clone(), scope.clone());
                    let Some(keys) = self.0.get_mut(&scope) else { continue };
                    keys.retain(|_, lock| lock.owner != *owner);
                    if keys.is_empty() {
                        self.0.remove(&scope);
                    }
                }
                _ => {}
            }
        }
    }

    /// Forgets locks whose owners did not come back.
    pub(crate) fn sweep(&mut self, now_ms: u64) {
        self.0.retain(|_, keys| {
            keys.retain(|_, lock| lock.until_ms > now_ms);
            !keys.is_empty()
        });
    }
}
