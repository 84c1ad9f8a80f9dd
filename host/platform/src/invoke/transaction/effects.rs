//! What a run does before its first effect on the outside: it proves its reads, locks their keys and flushes its writes.

use std::collections::BTreeMap;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use domain::props::Isolation;
use store::{CommitError, Committed, Op};

use super::{Refusal, Transaction, refuse, service_error};
use crate::invoke::services::stored_key;
use crate::ports::{ServiceError, Write};

impl Transaction {
    /// Called before a request leaves: proves and locks what was read, and flushes `writes`, because the other side may
    /// call back and must find them. Answers the writes that the run has to keep.
    pub(crate) async fn before_request(&self, writes: Vec<Write>) -> Result<Vec<Write>, ServiceError> {
        let (flushed, kept) = if self.is_atomic { (Vec::new(), writes) } else { (writes, Vec::new()) };
        let unproven = self.unproven();
        if unproven.is_empty() && flushed.is_empty() {
            self.begin_effects();
            return Ok(kept);
        }
        if !self.try_fronts(&unproven) && !self.has_effects() {
            return Err(self.give_way(unproven.into_iter().map(|(key, _)| key)));
        }
        let outcome = self.prove(&unproven, &flushed, Vec::new(), u64::MAX).await;
        self.proven(outcome)?;
        Ok(kept)
    }

    /// The same before an answer that could as well be given at the end of the run; `operations` are part of the batch.
    /// `None` when it would have to wait for another run, which may itself be waiting for the answer.
    pub(crate) async fn before_early_answer(&self, operations: Vec<Op>) -> Result<Option<Committed>, ServiceError> {
        let unproven = self.unproven();
        if !self.try_fronts(&unproven) {
            return Ok(None);
        }
        match self.prove(&unproven, &[], operations, 0).await {
            Err(CommitError::Locked { .. }) => Ok(None),
            outcome => self.proven(outcome).map(Some),
        }
    }

    /// Commits that what was read still holds, together with locks on it, flushed writes and other operations.
    #[boxed]
    async fn prove(
        &self,
        unproven: &[(String, Option<Bytes>)],
        flushed: &[Write],
        operations: Vec<Op>,
        until_ms: u64,
    ) -> Result<Committed, CommitError> {
        let values = match self.isolation {
            Isolation::None => BTreeMap::new(),
            Isolation::Serializable => flushed_values(flushed),
        };
        let flushing = self.write_operations(flushed.to_vec());
        let keys: Vec<String> = unproven.iter().map(|(key, _)| key.clone()).chain(values.keys().cloned()).collect();
        let batch = || {
            let locks = keys.iter().map(|key| self.lock_operation(key));
            let mut batch =
                self.batch(locks.chain(flushing.iter().cloned()).chain(operations.iter().cloned()).collect());
            batch.preconditions = unproven.iter().map(|(key, value)| self.value_is(key, value)).collect();
            batch.preconditions.extend(self.stores_are_there());
            batch
        };
        let committed = self.commit_unlocked(batch, until_ms).await?;
        let mut state = self.state();
        state.flushed.extend_from_slice(flushed);
        state.locked.extend(keys);
        state.reads.extend(values);
        Ok(committed)
    }

    fn proven(&self, outcome: Result<Committed, CommitError>) -> Result<Committed, ServiceError> {
        match outcome {
            Ok(committed) => {
                self.begin_effects();
                Ok(committed)
            }
            Err(CommitError::Conflict { .. }) => Err(refuse(&mut self.state(), Refusal::Stale)),
            Err(CommitError::OverCap { cap_bytes, .. }) => Err(refuse(&mut self.state(), Refusal::Full { cap_bytes })),
            Err(error) => Err(service_error(error)),
        }
    }

    fn begin_effects(&self) {
        let mut state = self.state();
        state.has_effects = true;
        for front in &state.fronts {
            front.is_waiting_for_the_outside();
        }
    }

    /// What was read and is not protected by a lock yet.
    fn unproven(&self) -> Vec<(String, Option<Bytes>)> {
        let state = self.state();
        let unproven = state.reads.iter().filter(|(key, _)| !state.locked.contains(*key));
        unproven.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// The front of each key's queue, if no other run has it.
    fn try_fronts(&self, unproven: &[(String, Option<Bytes>)]) -> bool {
        let mut state = self.state();
        for (key, _) in unproven {
            if state.fronts.iter().any(|front| front.key() == key) {
                continue;
            }
            match self.platform.key_queues().try_join(self.queue_key(key)) {
                Some(front) => state.fronts.push(front),
                None => return false,
            }
        }
        true
    }
}

/// What the flushed writes make of their keys; the last one of a key counts.
fn flushed_values(writes: &[Write]) -> BTreeMap<String, Option<Bytes>> {
    writes.iter().map(|write| (stored_key(&write.key), write.value.clone().map(Bytes::from))).collect()
}
