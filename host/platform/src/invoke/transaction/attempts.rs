//! Another attempt: waiting outside of the sandbox for the keys that it needs, and holding them.

use std::collections::BTreeSet;

use async_recursion::async_recursion as boxed;
use store::CommitError;

use super::super::key_queues::Front;
use super::Transaction;
use crate::Error;
use crate::invoke::services::stored_key;
use crate::ports::Write;

/// The second attempt holds locks on every key of the first, so a third one read keys that neither had; a component
/// that never reads the same keys twice gives up here.
const ATTEMPTS_MAXIMUM: u32 = 16;

impl Transaction {
    /// Waits for the keys at which the last attempt gave way. `false` when there cannot be another one.
    pub(crate) async fn queue_up(&self) -> Result<bool, Error> {
        if self.is_waited_for() {
            // To wait for more while holding some would be to wait out of order.
            return self.begin_again(&[]).await;
        }
        let keys: BTreeSet<String> = {
            let mut state = self.state();
            state.refusal = None;
            let read = std::mem::take(&mut state.reads).into_keys();
            read.chain(std::mem::take(&mut state.busy)).collect()
        };
        Ok(self.join_all(&keys, self.deadline_ms()).await)
    }

    /// Whether other runs may be waiting for this one to go on.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.state().fronts.is_empty()
    }

    /// Prepares another attempt, with locks on every key the run is known to need. `false` when there cannot be one.
    #[boxed]
    pub(crate) async fn begin_again(&self, writes: &[Write]) -> Result<bool, Error> {
        let keys: BTreeSet<String> = {
            let mut state = self.state();
            state.attempts += 1;
            if state.has_effects || state.attempts >= ATTEMPTS_MAXIMUM {
                return Ok(false);
            }
            let read = std::mem::take(&mut state.reads).into_keys();
            // Still locked until they are released, and needed again.
            let known = state.locked.clone().into_iter().chain(std::mem::take(&mut state.busy));
            state.refusal = None;
            read.chain(known).chain(writes.iter().map(|write| stored_key(&write.key))).collect()
        };
        let until_ms = self.deadline_ms();
        if !self.holds_fronts(&keys) {
            self.release().await;
            if !self.join_all(&keys, until_ms).await {
                return Ok(false);
            }
        }
        let batch = || self.batch(keys.iter().map(|key| self.lock_operation(key)).collect());
        let from_ms = self.platform.clock.now_ms();
        let locked = self.commit_unlocked(batch, until_ms).await;
        self.note_waiting_since(from_ms);
        match locked {
            Ok(_) => {
                self.state().locked = keys;
                Ok(true)
            }
            Err(CommitError::Locked { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// For another attempt: it locks what was written as well.
    pub(crate) fn note_writes(&self, writes: &[Write]) {
        if !writes.is_empty() {
            self.state().busy.extend(writes.iter().map(|write| stored_key(&write.key)));
        }
    }

    /// Gives up what the run holds until it begins again with the same keys. `false` when it has nothing to lock, or cannot be
    /// repeated.
    pub(crate) async fn stand_back(&self) -> bool {
        let begins_again = {
            let mut state = self.state();
            let locked = state.locked.clone();
            state.busy.extend(locked);
            let needs_keys = !state.busy.is_empty() || !state.reads.is_empty();
            needs_keys && !state.has_effects
        };
        self.release().await;
        begins_again
    }

    fn holds_fronts(&self, keys: &BTreeSet<String>) -> bool {
        let state = self.state();
        let held: BTreeSet<&str> = state.fronts.iter().map(Front::key).collect();
        keys.iter().all(|key| held.contains(key.as_str()))
    }

    /// In the order of their names, as every other run does it.
    pub(super) async fn join_all(&self, keys: &BTreeSet<String>, until_ms: u64) -> bool {
        let from_ms = self.platform.clock.now_ms();
        for key in keys {
            // Cancel-safe: a run that stops waiting leaves the queue.
            let front = tokio::select! {
                biased;
                front = self.platform.key_queues().join(self.queue_key(key)) => front,
                () = self.platform.clock.sleep_until(until_ms) => return false,
            };
            self.state().fronts.push(front);
        }
        self.note_waiting_since(from_ms);
        true
    }

    fn note_waiting_since(&self, from_ms: u64) {
        let now_ms = self.platform.clock.now_ms();
        self.state().waited_ms += now_ms.saturating_sub(from_ms);
    }
}
