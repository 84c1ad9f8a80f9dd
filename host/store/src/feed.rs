//! Live delivery: what is appended to an emitter that has readers, in the order of commits.
//!
//! Retention decides what can be read later; it has no say here. An engine publishes every entry that it commits for a
//! followed emitter, and each emitter has one log ([`Log`]) from which all of its readers take: an entry is held once,
//! however many readers there are, and is dropped when the last of them has taken it. Memory is bounded for each emitter,
//! each tenant and in all. Over a bound the oldest entries go, first those of the tenant that holds most, and a reader
//! that had not taken them is told so ([`Taken::Lost`]): it never misses an entry without knowing.
//!
//! Without readers a commit pays one load of a counter.

mod live;
mod log;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Semaphore;

use self::live::{Account, Topic};
use crate::{EntryId, Op, Tenant};

pub use self::live::{Live, LiveEntry, Taken};

/// A run may emit 10 000 events; with a few KiB each they fit, and a reader that keeps up gets all of them.
const EMITTER_BYTES: usize = 32 << 20;
/// Includes the form in which entries are sent, which is about as large as they are, and what slow connections hold.
const TENANT_BYTES: usize = 64 << 20;
const TOTAL_BYTES: usize = 128 << 20;
/// Readers that read entries of before at the same time.
const TURNS: usize = 16;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Feed {
    shared: Arc<Shared>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) emitter_bytes: usize,
    pub(crate) tenant_bytes: usize,
    pub(crate) total_bytes: usize,
}

/// An entry of a batch that has readers.
pub(crate) struct Appended {
    pub(crate) tenant: Tenant,
    pub(crate) emitter: String,
    pub(crate) stream: String,
    pub(crate) id: EntryId,
    pub(crate) value: Bytes,
}

struct Shared {
    bounds: Bounds,
    /// Followed emitters; zero is what almost every commit sees.
    followed: AtomicUsize,
    held_bytes: Arc<AtomicUsize>,
    turns: Semaphore,
    tenants: Mutex<HashMap<Tenant, Topics>>,
}

struct Topics {
    account: Account,
    by_emitter: HashMap<String, Arc<Topic>>,
}

// === impl Bounds ===

impl Default for Bounds {
    fn default() -> Self {
        Self { emitter_bytes: EMITTER_BYTES, tenant_bytes: TENANT_BYTES, total_bytes: TOTAL_BYTES }
    }
}

// === impl Feed ===

impl Feed {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let (followed, held_bytes, tenants) = Default::default();
        let turns = Semaphore::new(TURNS);
        Self { shared: Arc::new(Shared { bounds, followed, held_bytes, turns, tenants }) }
    }

    /// A reader of everything that is published for the emitter from now on.
    pub(crate) fn join(&self, tenant: &Tenant, emitter: &str) -> Live {
        let mut tenants = self.shared.lock();
        let topics = tenants.entry(tenant.clone()).or_insert_with(|| {
            let account = Account::new(&self.shared.held_bytes);
            Topics { account, by_emitter: HashMap::new() }
        });
        let topic = topics.by_emitter.entry(emitter.to_owned()).or_insert_with(|| {
            self.shared.followed.fetch_add(1, Ordering::SeqCst);
            Arc::new(Topic::new(tenant.clone(), emitter.to_owned(), topics.account.clone()))
        });
        Live::join(self.clone(), topic.clone())
    }

    /// The entries of a batch that has been applied which have readers, to be published when it is durable.
    pub(crate) fn note(&self, tenant: &Tenant, operations: &[Op], entries: &[EntryId]) -> Vec<Appended> {
        if self.is_idle() {
            return Vec::new();
        }
        let tenants = self.shared.lock();
        let Some(topics) = tenants.get(tenant) else { return Vec::new() };
        let appends = operations.iter().filter_map(|operation| match operation {
            Op::Append { emitter, stream, value, .. } => Some((emitter, stream, value)),
            _ => None,
        });
        let followed = appends.zip(entries).filter(|((emitter, ..), _)| topics.by_emitter.contains_key(*emitter));
        let appended = followed.map(|((emitter, stream, value), id)| Appended {
            tenant: tenant.clone(),
            emitter: emitter.clone(),
            stream: stream.clone(),
            id: *id,
            value: value.clone(),
        });
        appended.collect()
    }

    /// In the order of commits. Called by one publisher at a time for each emitter.
    pub(crate) fn publish(&self, appended: Vec<Appended>) {
        let mut appended = appended.into_iter().peekable();
        while let Some(first) = appended.next() {
            let Some(topic) = self.topic(&first.tenant, &first.emitter) else { continue };
            topic.push(first, self.shared.bounds.emitter_bytes);
            while let Some(next) = appended.next_if(|next| topic.is_of(&next.tenant, &next.emitter)) {
                topic.push(next, self.shared.bounds.emitter_bytes);
            }
            self.shared.make_room(&topic);
            topic.wake();
        }
    }

    /// Entries of the emitter were missed: every reader it has now is told so.
    pub(crate) fn lose(&self, tenant: &Tenant, emitter: &str) {
        if let Some(topic) = self.topic(tenant, emitter) {
            topic.lose();
        }
    }

    pub(crate) fn is_followed(&self, tenant: &Tenant, emitter: &str) -> bool {
        self.topic(tenant, emitter).is_some()
    }

    fn is_idle(&self) -> bool {
        self.shared.followed.load(Ordering::SeqCst) == 0
    }

    fn topic(&self, tenant: &Tenant, emitter: &str) -> Option<Arc<Topic>> {
        if self.is_idle() {
            return None;
        }
        self.shared.lock().get(tenant)?.by_emitter.get(emitter).cloned()
    }

    /// Removes a reader; the log is dropped with the last one.
    fn leave(&self, topic: &Topic, position: u64) {
        let mut tenants = self.shared.lock();
        if topic.leave(position)
            && let Some(topics) = tenants.get_mut(&topic.tenant)
            && topics.by_emitter.remove(&topic.emitter).is_some()
        {
            self.shared.followed.fetch_sub(1, Ordering::SeqCst);
        }
        // An account lives as long as connections hold entries that are charged to it.
        tenants.retain(|_, topics| !topics.by_emitter.is_empty() || topics.account.held_bytes() > 0);
    }
}

// === impl Shared ===

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<Tenant, Topics>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self, topic: &Topic) -> bool {
        let is_tenant_full = topic.account.held_bytes() > self.bounds.tenant_bytes;
        is_tenant_full || self.held_bytes.load(Ordering::Relaxed) > self.bounds.total_bytes
    }

    /// After entries were pushed to a topic: back to the bounds of its tenant and of all.
    fn make_room(&self, topic: &Topic) {
        if !self.is_full(topic) {
            return;
        }
        let is_tenant_full = || topic.account.held_bytes() > self.bounds.tenant_bytes;
        let is_full = || self.held_bytes.load(Ordering::Relaxed) > self.bounds.total_bytes;
        let tenants = self.lock();
        if let Some(topics) = tenants.get(&topic.tenant) {
            topics.make_room(is_tenant_full);
        }
        while is_full() {
            let largest = tenants.values().filter(|topics| topics.size_bytes() > 0);
            let Some(largest) = largest.max_by_key(|topics| topics.account.held_bytes()) else { return };
            let half = largest.account.held_bytes() / 2;
            largest.make_room(|| is_full() && largest.account.held_bytes() > half);
        }
    }
}

// === impl Topics ===

impl Topics {
    /// Of the logs, which is what can be given up.
    fn size_bytes(&self) -> usize {
        self.by_emitter.values().map(|topic| topic.size_bytes()).sum()
    }

    /// The largest log loses its older half until it is enough, or until all are empty.
    fn make_room(&self, is_full: impl Fn() -> bool) {
        while is_full() {
            let largest = self.by_emitter.values().map(|topic| (topic.size_bytes(), topic));
            let Some((size_bytes @ 1.., topic)) = largest.max_by_key(|(size_bytes, _)| *size_bytes) else { return };
            topic.evict(size_bytes / 2);
        }
    }
}

#[cfg(test)]
mod tests;
