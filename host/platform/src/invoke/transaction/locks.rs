//! Locks on keys: leases in the store, renewed while their run is under way, and waiting for those of other runs.

use std::collections::BTreeSet;
use std::pin::pin;

use store::{Batch, CommitError, Committed, Op};

use super::Transaction;
use super::places::Place;
use crate::Platform;
use crate::invoke::services::stored_key;
use crate::ports::Write;

/// Lease duration of locks, renewed while their run is under way: what a dead host had locked is free after it. It is much
/// longer than the time between the end of a run and its commit.
const LOCK_LEASE_MS: u64 = 15_000;
/// Between two looks at a lock of another host.
const PAUSE_MS: std::ops::RangeInclusive<u64> = 1..=50;

/// Waiting for locks to end, with growing pauses.
#[derive(Default)]
pub(crate) struct Waited {
    pause_ms: u64,
    until_ms: Option<u64>,
}

// === impl Transaction ===

impl Transaction {
    /// Waits after a commit was refused because a value is locked. Answers whether it is worth another try.
    pub(crate) async fn wait(&self, writes: &[Write], waited: &mut Waited) -> bool {
        if self.state().fronts.is_empty() {
            let until_ms = waited.until_ms(self);
            self.renew_when_due().await;
            let keys: BTreeSet<String> = writes.iter().map(|write| stored_key(&write.key)).collect();
            return self.join_all(&keys, until_ms).await;
        }
        self.pause(waited).await
    }

    /// The same for a run that cannot be repeated: it keeps what it holds.
    pub(crate) async fn pause(&self, waited: &mut Waited) -> bool {
        let until_ms = waited.until_ms(self);
        self.renew_when_due().await;
        waited.pause(&self.platform, until_ms).await
    }

    /// Commits as soon as no value of the batch is locked by another run.
    pub(super) async fn commit_unlocked(
        &self,
        batch: impl Fn() -> Batch,
        until_ms: u64,
    ) -> Result<Committed, CommitError> {
        let mut waited = Waited::default();
        self.hold_locks();
        loop {
            match self.ask(self.platform.commit(batch())).await {
                Err(CommitError::Locked { .. }) if waited.pause(&self.platform, until_ms).await => {}
                settled => return settled,
            }
        }
    }

    pub(super) fn lock_operation(&self, key: &str) -> Op {
        let until_ms = self.platform.clock.now_ms().saturating_add(LOCK_LEASE_MS);
        let Place { scope, key, .. } = self.place(key);
        Op::Lock { scope, key, until_ms }
    }

    fn hold_locks(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.may_hold_locks, true) {
            state.renewed_ms = self.platform.clock.now_ms();
            self.locked.notify_one();
        }
    }

    /// Renews the leases of the locks while `work` goes on.
    pub(crate) async fn renewing<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        // Both are cancel-safe: the work is pinned outside, and a renewal that is cut off comes with the next one.
        tokio::select! {
            biased;
            done = &mut work => done,
            () = self.renew_forever() => work.await,
        }
    }

    async fn renew_forever(&self) {
        while !self.state().may_hold_locks {
            self.locked.notified().await;
        }
        loop {
            let due_ms = self.state().renewed_ms.saturating_add(LOCK_LEASE_MS / 3);
            self.platform.clock.sleep_until(due_ms).await;
            self.renew_when_due().await;
        }
    }

    /// A renewal that fails is tried again with the next one; should the leases end before, the commit's preconditions
    /// still tell whether the run counts.
    async fn renew_when_due(&self) {
        let (now_ms, due) = (self.platform.clock.now_ms(), LOCK_LEASE_MS / 3);
        let keys: Vec<String> = {
            let mut state = self.state();
            if !state.may_hold_locks || now_ms < state.renewed_ms.saturating_add(due) {
                return;
            }
            state.renewed_ms = now_ms;
            state.locked.iter().cloned().collect()
        };
        if keys.is_empty() {
            return;
        }
        let renewal = self.batch(keys.iter().map(|key| self.lock_operation(key)).collect());
        if let Err(error) = self.platform.store.commit(renewal).await {
            tracing::warn!(run.id = %self.run_id, %error, "the locks of a run were not renewed");
        }
    }

    /// Gives up locks and queues. For runs that end without a commit; should it fail, the locks end by themselves.
    pub(crate) async fn release(&self) {
        let (fronts, may_hold_locks) = {
            let mut state = self.state();
            state.locked.clear();
            (std::mem::take(&mut state.fronts), std::mem::take(&mut state.may_hold_locks))
        };
        if may_hold_locks {
            let unlock = self.batch(self.unlock_operations());
            if let Err(error) = self.platform.store.commit(unlock).await {
                tracing::warn!(run.id = %self.run_id, %error, "the locks of a run were not released and end with their lease");
            }
        }
        drop(fronts);
    }
}

// === impl Waited ===

impl Waited {
    fn until_ms(&mut self, transaction: &Transaction) -> u64 {
        *self.until_ms.get_or_insert_with(|| transaction.deadline_ms())
    }

    /// `false` once the time is over.
    async fn pause(&mut self, platform: &Platform, until_ms: u64) -> bool {
        let now_ms = platform.clock.now_ms();
        if now_ms >= until_ms {
            return false;
        }
        self.pause_ms = (self.pause_ms * 2).clamp(*PAUSE_MS.start(), *PAUSE_MS.end());
        platform.clock.sleep_until(now_ms.saturating_add(self.pause_ms)).await;
        true
    }
}
