//! What tenants keep: how much is stored of each, and how much may wait in its queue.
//!
//! What is stored is not counted with every commit: that would cost a read for each value that is replaced and each entry
//! that is trimmed. It is measured, and what this host commits afterwards is added as if it replaced nothing. Only when
//! that sum reaches the bound is it measured again, so a refusal always rests on what is really there, and a tenant far
//! from its bound is never measured at all.

use std::sync::{Mutex, MutexGuard, PoisonError};

use admission::{Full, Scope};
use store::{At, Batch, CommitError, Committed, Precondition, Tenant};

use crate::HashMap;
use crate::numbers::Refused;
use crate::quotas::Counter;
use crate::records::names;
use crate::{Error, Platform, data_stores, programs};

/// Tenants held at once, some megabytes; those that are dropped begin anew.
const TENANTS_HELD: usize = 1 << 16;
/// A tenant that is at its bound is measured at most this often: it takes a look at everything it keeps.
const MEASURED_EVERY_MS: u64 = 5000;
/// The part of the bound that this host writes for a tenant before it is measured first.
const UNMEASURED_PART: u64 = 16;
/// How long no work is accepted from outside after the queue was full.
const FULL_FOR_MS: u64 = 1000;

/// How often what is over makes room for one batch: it may set values of several data stores.
const ROOM_TRIES: usize = 4;

/// The names of the bounds, as an operator sets them.
pub(crate) const STORED_BYTES: &str = "stored_bytes";
pub(crate) const QUEUED_JOBS: &str = "queued_jobs";

#[derive(Default)]
pub(crate) struct Keeping {
    stored: Mutex<HashMap<Tenant, Stored>>,
    /// Until when.
    full_queues: Mutex<HashMap<Tenant, u64>>,
}

#[derive(Clone, Copy, Default)]
struct Stored {
    measured: Option<Measured>,
    /// Since then, or since the start.
    grown_bytes: u64,
}

#[derive(Clone, Copy)]
struct Measured {
    bytes: u64,
    at_ms: u64,
}

// === impl Platform ===

impl Platform {
    /// Commits, adds to what the tenant keeps, and learns what it has used.
    pub(crate) async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let (tenant, bytes) = (batch.tenant.clone(), batch.stored_bytes());
        let counters = Counter::among(&batch.operations);
        let committed = self.commit_in_room(batch).await?;
        self.keeping().grow(&tenant, bytes);
        self.quotas().note(&tenant, &counters, &committed);
        Ok(committed)
    }

    /// Values of data stores that are over make room for others.
    async fn commit_in_room(&self, batch: Batch) -> Result<Committed, CommitError> {
        if !data_stores::sets_values(&batch) {
            return self.store.commit(batch).await;
        }
        for _ in 0..ROOM_TRIES {
            match self.store.commit(batch.clone()).await {
                Err(CommitError::OverCap { operation, .. })
                    if data_stores::make_room(self, &batch, operation).await? => {}
                settled => return settled,
            }
        }
        self.store.commit(batch).await
    }

    /// Refuses what would be kept when the tenant keeps as much as it may already.
    pub(crate) async fn check_room(&self, tenant: &Tenant) -> Result<(), Error> {
        let limit_bytes = self.config.shares.stored_bytes;
        let now_ms = self.clock.now_ms();
        let stored = self.keeping().stored().get(tenant).copied().unwrap_or_default();
        let (bytes, part) = match stored.measured {
            Some(measured) => (measured.bytes, limit_bytes),
            None => (0, limit_bytes / UNMEASURED_PART),
        };
        // What belongs to the installation has bounds of its own.
        if bytes.saturating_add(stored.grown_bytes) < part || *tenant == names::operator() {
            return Ok(());
        }
        let is_fresh = |measured: Measured| now_ms.saturating_sub(measured.at_ms) < MEASURED_EVERY_MS;
        if stored.measured.is_some_and(is_fresh) {
            self.numbers.refused(Refused::StoredBytes);
            return Err(Error::NoRoom { limit_bytes });
        }
        let mut bytes = self.kept_bytes(tenant).await?;
        if bytes >= limit_bytes && data_stores::remove_all_expired(self, tenant).await? > 0 {
            bytes = self.kept_bytes(tenant).await?;
        }
        self.keeping().measured(tenant, Measured { bytes, at_ms: now_ms });
        if bytes < limit_bytes {
            return Ok(());
        }
        self.numbers.refused(Refused::StoredBytes);
        Err(Error::NoRoom { limit_bytes })
    }

    /// Package texts are stored elsewhere, and are part of what a tenant keeps.
    async fn kept_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        Ok(self.store.stored_bytes(tenant).await?.saturating_add(programs::held_bytes(self, tenant).await?))
    }

    /// What must hold when jobs are added to a tenant's queue.
    pub(crate) fn queue_fits(&self) -> Precondition {
        let shares = &self.config.shares;
        Precondition::QueueFits { jobs: shares.queued_jobs, bytes: shares.queued_bytes }
    }

    /// Commits work from outside, unless the queue of its tenant is full.
    pub(crate) async fn commit_work(&self, mut batch: Batch) -> Result<(), Error> {
        let tenant = batch.tenant.clone();
        let queue = batch.preconditions.len();
        batch.preconditions.push(self.queue_fits());
        match self.store.commit(batch).await {
            Err(CommitError::Conflict { at: At::Precondition(at) }) if at == queue => {
                self.note_full_queue(&tenant);
                Err(queue_is_full().into())
            }
            settled => settled.map(drop).map_err(Error::from),
        }
    }

    /// Refuses new work of a tenant whose queue was full a moment ago.
    pub(crate) fn check_queue(&self, tenant: &Tenant) -> Result<(), Full> {
        let full_until_ms = self.keeping().full_queues().get(tenant).copied();
        if full_until_ms.is_some_and(|until_ms| self.clock.now_ms() < until_ms) {
            self.numbers.refused(Refused::QueuedJobs);
            return Err(queue_is_full());
        }
        Ok(())
    }

    /// The queue of a tenant had no room for a batch.
    pub(crate) fn note_full_queue(&self, tenant: &Tenant) {
        self.numbers.refused(Refused::QueuedJobs);
        let mut full = self.keeping().full_queues();
        let now_ms = self.clock.now_ms();
        if full.len() >= TENANTS_HELD {
            full.retain(|_, until_ms| now_ms < *until_ms);
        }
        full.insert(tenant.clone(), now_ms.saturating_add(FULL_FOR_MS));
    }
}

fn queue_is_full() -> Full {
    Full { what: QUEUED_JOBS, scope: Scope::Tenant }
}

// === impl Keeping ===

impl Keeping {
    /// Adds what was stored for the tenant elsewhere.
    pub(crate) fn grow(&self, tenant: &Tenant, bytes: u64) {
        let mut stored = self.stored();
        match stored.get_mut(tenant) {
            Some(stored) => stored.grown_bytes = stored.grown_bytes.saturating_add(bytes),
            None => hold(&mut stored, tenant, Stored { measured: None, grown_bytes: bytes }),
        }
    }

    fn measured(&self, tenant: &Tenant, measured: Measured) {
        hold(&mut self.stored(), tenant, Stored { measured: Some(measured), grown_bytes: 0 });
    }

    fn stored(&self) -> MutexGuard<'_, HashMap<Tenant, Stored>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn full_queues(&self) -> MutexGuard<'_, HashMap<Tenant, u64>> {
        self.full_queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hold(held: &mut HashMap<Tenant, Stored>, tenant: &Tenant, stored: Stored) {
    if held.len() >= TENANTS_HELD {
        held.clear();
    }
    held.insert(tenant.clone(), stored);
}
