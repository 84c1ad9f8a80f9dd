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

mod attempts;
mod effects;
mod locks;
mod places;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use domain::ids::RunId;
use domain::props::Isolation;
use store::{Batch, Op, Precondition, Tenant};
use tokio::sync::Notify;

use self::places::Place;
use super::key_queues::{Front, Key};
use crate::Platform;
use crate::ports::{ServiceError, Write};

pub(crate) use locks::Waited;

/// A run reads at most so many keys: they are preconditions of its batch.
pub(crate) const READ_KEYS_MAXIMUM: usize = 10_000;

/// A store that has not answered for so long is why the run that asked it is late.
const STORE_IS_LATE_MS: u64 = 500;

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
    /// What was made durable before requests left.
    flushed: Vec<Write>,
    attempts: u32,
    /// How long the run waited for keys, outside of its sandbox.
    waited_ms: u64,
    /// Since when the run waits for an answer of the store.
    asked_ms: Option<u64>,
    refusal: Option<Refusal>,
}

/// Why a service of the transaction ended the run; not the host's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What the run read has changed.
    Stale,
    /// Another run of this host is at work on a key.
    Busy,
    /// A store of the run is full.
    Full {
        cap_bytes: u64,
    },
    TooManyReads,
}

/// Ids of runs sort by the time they began, and name what runs.
pub(crate) fn new_run_id(platform: &Platform, emitter: &str) -> RunId {
    RunId::new(platform.clock.instant_ms(), emitter, platform.entropy.bytes())
}

#[derive(Debug, thiserror::Error)]
#[error("the transaction was refused: {0:?}")]
struct Refused(Refusal);

#[derive(Debug, thiserror::Error)]
#[error("the store did not answer before the deadline of the run")]
pub(crate) struct StoreLate;

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

    pub(crate) fn take_flushed(&self) -> Vec<Write> {
        std::mem::take(&mut self.state().flushed)
    }

    /// How long it waited for keys of other runs since this was asked last: a run that waits is not at work.
    pub(crate) fn take_waited_ms(&self) -> u64 {
        std::mem::take(&mut self.state().waited_ms)
    }

    /// Why the last attempt was ended by this transaction, if it was.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.state().refusal
    }

    /// Whether the last attempt ended while it waited for a store that did not answer: then its end is not its own fault.
    pub(crate) fn was_kept_waiting(&self) -> bool {
        let now_ms = self.platform.clock.now_ms();
        self.state().asked_ms.is_some_and(|asked_ms| now_ms.saturating_sub(asked_ms) >= STORE_IS_LATE_MS)
    }

    /// Asks the store for a run that waits. When the run meets its deadline before there is an answer, this is dropped, and
    /// the question stays.
    async fn ask<T>(&self, question: impl Future<Output = T>) -> T {
        self.state().asked_ms = Some(self.platform.clock.now_ms());
        let answer = question.await;
        self.state().asked_ms = None;
        answer
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn batch(&self, operations: Vec<Op>) -> Batch {
        let mut batch = self.platform.batch(&self.tenant);
        batch.lock_owner = Some(self.run_id.to_string());
        batch.operations = operations;
        batch
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

fn refuse(state: &mut State, refusal: Refusal) -> ServiceError {
    state.refusal = Some(refusal);
    service_error(Refused(refusal))
}

pub(super) fn service_error(error: impl std::error::Error + Send + Sync + 'static) -> ServiceError {
    ServiceError(Box::new(error))
}
