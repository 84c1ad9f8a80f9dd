//! The transaction of a run on its `db`: serialisable, by optimistic concurrency. Locks are taken after a conflict and before
//! an effect on the outside.
//!
//! Values that a run has read are preconditions of its commit. A run whose reads went stale, and which had no effect on
//! the outside yet, is executed again in a fresh sandbox; the second attempt holds locks on the keys of the first, so
//! that it succeeds however busy they are. Before its first effect (a request, an early response) a run proves its reads
//! and locks their keys: from then on it cannot be repeated, so other runs wait until it has ended.
//!
//! A run waits for another one outside of its sandbox: the attempt is ended, and the next one begins when its keys are
//! free. Sandboxes are bounded, and one that waits could keep the very run from its sandbox that it waits for. Only after an
//! effect there is no other way than to wait inside; runs that hold what such runs wait for are let in beyond the bound.
//!
//! Values of data stores are part of it as those of `db` are: a key says which store it is of (`domain/data_stores.rs`).
//!
//! Safety rests on the preconditions alone. Locks and queues only decide which run waits; a lock that expires too early, after
//! a crash or a pause, makes a commit fail and never makes it wrong.

mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use domain::ids::RunId;
use domain::props::Isolation;
use store::{Batch, CommitError, Committed, Op, Precondition, Tenant};
use tokio::sync::Notify;

use self::places::Place;
use super::key_queues::{Front, Key};
use super::services::stored_key;
use crate::ports::{ServiceError, Write};
use crate::{Error, Platform};

/// The second attempt holds locks on every key of the first, so a third one read keys that neither had; a component
/// that never reads the same keys twice gives up here.
const ATTEMPTS_MAXIMUM: u32 = 16;
/// A run reads at most so many keys: they are preconditions of its batch.
pub(crate) const READ_KEYS_MAXIMUM: usize = 10_000;
/// Lease duration of locks, renewed while their run is under way: what a dead host had locked is free after it. It is much
/// longer than the time between the end of a run and its commit.
const LOCK_LEASE_MS: u64 = 15_000;
/// Between two looks at a lock of another host.
const PAUSE_MS: std::ops::RangeInclusive<u64> = 1..=50;

/// One invocation's, over all its attempts.
pub(crate) struct Transaction {
    platform: Platform,
    tenant: Tenant,
    scope: String,
    run_id: RunId,
    isolation: Isolation,
    /// Nothing counts unless the run returns, so nothing is flushed before.
    is_atomic: bool,
    wall_clock: Duration,
    has_data_stores: bool,
    state: Mutex<State>,
    /// The data stores that the run has found, with the version of each record. A lock of its own: it is taken while the
    /// state is held, and never the other way round.
    stores: Mutex<BTreeMap<String, u64>>,
    /// That the run holds its first lock.
    locked: Notify,
}

/// What a run does its transaction on, and how.
pub(crate) struct Terms {
    /// Owns the locks; steps of one workflow run share it.
    pub(crate) run_id: RunId,
    pub(crate) tenant: Tenant,
    /// Where `$.service.db` keeps its values.
    pub(crate) scope: String,
    pub(crate) has_data_stores: bool,
    pub(crate) isolation: Isolation,
    pub(crate) is_atomic: bool,
    pub(crate) wall_clock: Duration,
}

#[derive(Default)]
struct State {
    /// By stored key; also what was flushed, so that the run goes on reading its own writes.
    reads: BTreeMap<String, Option<Bytes>>,
    locked: BTreeSet<String>,
    /// Also when the answer was not waited for: a run may meet its deadline while it locks.
    may_hold_locks: bool,
    /// When the leases of the locks were renewed last.
    renewed_ms: u64,
    fronts: Vec<Front>,
    /// Keys at which the last attempt would have had to wait.
    busy: BTreeSet<String>,
    has_effects: bool,
    attempts: u32,
    refusal: Option<Refusal>,
}

/// Why a service of the transaction ended the run; not the host's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What the run read has changed.
    Stale,
    /// Another run of this host is at work on a key.
    Busy,
    /// The source's store is full.
    Full,
    TooManyReads,
}

/// Ids of runs sort by the time they began, and name what runs.
pub(crate) fn new_run_id(platform: &Platform, emitter: &str) -> RunId {
    RunId::new(platform.clock.instant_ms(), emitter, platform.entropy.bytes())
}

#[derive(Debug, thiserror::Error)]
#[error("the transaction was refused: {0:?}")]
struct Refused(Refusal);

// === impl Transaction ===

impl Transaction {
    pub(crate) fn new(platform: &Platform, terms: Terms) -> Arc<Self> {
        let Terms { run_id, tenant, scope, has_data_stores, isolation, is_atomic, wall_clock } = terms;
        Arc::new(Self {
            platform: platform.clone(),
            tenant,
            scope,
            run_id,
            isolation,
            is_atomic,
            wall_clock,
            has_data_stores,
            state: Mutex::default(),
            stores: Mutex::default(),
            locked: Notify::new(),
        })
    }

    pub(crate) fn run_id(&self) -> &RunId {
        &self.run_id
    }

    pub(crate) fn has_effects(&self) -> bool {
        self.state().has_effects
    }

    /// Why the last attempt was ended by this transaction, if it was.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.state().refusal
    }

    /// A value as the run sees it: the same each time it is read.
    async fn read(&self, key: &str) -> Result<Option<Bytes>, ServiceError> {
        let key = stored_key(key);
        if self.isolation == Isolation::None {
            return self.value(&key).await;
        }
        loop {
            if let Some(known) = self.state().reads.get(&key) {
                return Ok(known.clone());
            }
            let had_effects = self.prepare_read(&key).await?;
            let value = self.value(&key).await?;
            let mut state = self.state();
            if state.reads.len() >= READ_KEYS_MAXIMUM {
                return Err(refuse(&mut state, Refusal::TooManyReads));
            }
            // An early response may have been sent meanwhile; then the key has to be locked before it is read.
            if state.has_effects == had_effects {
                state.reads.insert(key, value.clone());
                return Ok(value);
            }
        }
    }

    /// After an effect a key is locked before it is read. Before, a run gives way while it holds nothing itself.
    async fn prepare_read(&self, key: &str) -> Result<bool, ServiceError> {
        let (has_effects, is_locked, holds_fronts) = {
            let state = self.state();
            (state.has_effects, state.locked.contains(key), !state.fronts.is_empty())
        };
        if is_locked {
            return Ok(has_effects);
        }
        let queues = self.platform.key_queues();
        let queue_key = self.queue_key(key);
        if has_effects {
            self.state().fronts.extend(queues.try_join(queue_key));
            let lock = || self.batch(vec![self.lock_operation(key)]);
            self.commit_unlocked(lock, u64::MAX).await.map_err(service_error)?;
            self.state().locked.insert(key.to_owned());
        } else if !holds_fronts && queues.is_briefly_busy(&queue_key) {
            return Err(self.give_way([key.to_owned()]));
        }
        Ok(has_effects)
    }

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
    /// `false` when it would have to wait for another run, which may itself be waiting for the answer.
    pub(crate) async fn before_early_answer(&self, operations: Vec<Op>) -> Result<bool, ServiceError> {
        let unproven = self.unproven();
        if !self.try_fronts(&unproven) {
            return Ok(false);
        }
        match self.prove(&unproven, &[], operations, 0).await {
            Err(CommitError::Locked { .. }) => Ok(false),
            outcome => self.proven(outcome).map(|()| true),
        }
    }

    /// Commits that what was read still holds, together with locks on it, flushed writes and other operations.
    async fn prove(
        &self,
        unproven: &[(String, Option<Bytes>)],
        flushed: &[Write],
        operations: Vec<Op>,
        until_ms: u64,
    ) -> Result<(), CommitError> {
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
        self.commit_unlocked(batch, until_ms).await?;
        let mut state = self.state();
        state.locked.extend(keys);
        state.reads.extend(values);
        Ok(())
    }

    fn proven(&self, outcome: Result<(), CommitError>) -> Result<(), ServiceError> {
        match outcome {
            Ok(()) => {
                self.begin_effects();
                Ok(())
            }
            Err(CommitError::Conflict { .. }) => Err(refuse(&mut self.state(), Refusal::Stale)),
            Err(CommitError::OverCap { .. }) => Err(refuse(&mut self.state(), Refusal::Full)),
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

    /// Adds to the run's last batch what it read, and that its locks end.
    pub(crate) fn seal(&self, batch: &mut Batch) {
        let state = self.state();
        batch.preconditions.extend(state.reads.iter().map(|(key, value)| self.value_is(key, value)));
        batch.preconditions.extend(self.stores_are_there());
        if state.may_hold_locks {
            batch.lock_owner = Some(self.run_id.to_string());
            batch.operations.extend(self.unlock_operations());
        }
    }

    /// Waits after a commit was refused because a value is locked. Answers whether it is worth another try.
    pub(crate) async fn wait(&self, writes: &[Write], waited: &mut Waited) -> bool {
        let until_ms = waited.until_ms(self);
        self.renew_when_due().await;
        if self.state().fronts.is_empty() {
            let keys: BTreeSet<String> = writes.iter().map(|write| stored_key(&write.key)).collect();
            return self.join_all(&keys, until_ms).await;
        }
        waited.pause(&self.platform, until_ms).await
    }

    /// Ends the attempt because of keys that other runs are at work on.
    fn give_way(&self, keys: impl IntoIterator<Item = String>) -> ServiceError {
        let mut state = self.state();
        state.busy.extend(keys);
        refuse(&mut state, Refusal::Busy)
    }

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
        match self.commit_unlocked(batch, until_ms).await {
            Ok(_) => {
                self.state().locked = keys;
                Ok(true)
            }
            Err(CommitError::Locked { .. }) => Ok(false),
            Err(error) => Err(error.into()),
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

    fn hold_locks(&self) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.may_hold_locks, true) {
            state.renewed_ms = self.platform.clock.now_ms();
            self.locked.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn value(&self, key: &str) -> Result<Option<Bytes>, ServiceError> {
        let Place { scope, key, .. } = self.place(key);
        let values = self.platform.store.values(&self.tenant, &scope, &[key]).await;
        Ok(values.map_err(service_error)?.found.into_iter().next().flatten())
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

    fn holds_fronts(&self, keys: &BTreeSet<String>) -> bool {
        let state = self.state();
        let held: BTreeSet<&str> = state.fronts.iter().map(Front::key).collect();
        keys.iter().all(|key| held.contains(key.as_str()))
    }

    /// In the order of their names, as every other run does it.
    async fn join_all(&self, keys: &BTreeSet<String>, until_ms: u64) -> bool {
        for key in keys {
            // Cancel-safe: a run that stops waiting leaves the queue.
            let front = tokio::select! {
                biased;
                front = self.platform.key_queues().join(self.queue_key(key)) => front,
                () = self.platform.clock.sleep_until(until_ms) => return false,
            };
            self.state().fronts.push(front);
        }
        true
    }

    /// Commits as soon as no value of the batch is locked by another run.
    async fn commit_unlocked(&self, batch: impl Fn() -> Batch, until_ms: u64) -> Result<Committed, CommitError> {
        let mut waited = Waited::default();
        self.hold_locks();
        loop {
            match self.platform.commit(batch()).await {
                Err(CommitError::Locked { .. }) if waited.pause(&self.platform, until_ms).await => {}
                settled => return settled,
            }
        }
    }

    fn batch(&self, operations: Vec<Op>) -> Batch {
        let mut batch = self.platform.batch(&self.tenant);
        batch.lock_owner = Some(self.run_id.to_string());
        batch.operations = operations;
        batch
    }

    fn lock_operation(&self, key: &str) -> Op {
        let until_ms = self.platform.clock.now_ms().saturating_add(LOCK_LEASE_MS);
        let Place { scope, key, .. } = self.place(key);
        Op::Lock { scope, key, until_ms }
    }

    fn value_is(&self, key: &str, value: &Option<Bytes>) -> Precondition {
        let Place { scope, key, .. } = self.place(key);
        Precondition::ValueIs { scope, key, value: value.clone() }
    }

    fn queue_key(&self, key: &str) -> Key {
        // By the key as the run has it, which fronts are found by.
        let Place { scope, .. } = self.place(key);
        Key { tenant: self.tenant.clone(), scope, key: key.to_owned() }
    }

    fn deadline_ms(&self) -> u64 {
        let wall_clock_ms = u64::try_from(self.wall_clock.as_millis()).unwrap_or(u64::MAX);
        self.platform.clock.now_ms().saturating_add(wall_clock_ms)
    }
}

/// Waiting for locks to end, with growing pauses.
#[derive(Default)]
pub(crate) struct Waited {
    pause_ms: u64,
    until_ms: Option<u64>,
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

/// What the flushed writes make of their keys; the last one of a key counts.
fn flushed_values(writes: &[Write]) -> BTreeMap<String, Option<Bytes>> {
    writes.iter().map(|write| (stored_key(&write.key), write.value.clone().map(Bytes::from))).collect()
}

fn refuse(state: &mut State, refusal: Refusal) -> ServiceError {
    state.refusal = Some(refusal);
    service_error(Refused(refusal))
}

pub(super) fn service_error(error: impl std::error::Error + Send + Sync + 'static) -> ServiceError {
    ServiceError(Box::new(error))
}
