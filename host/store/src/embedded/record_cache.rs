//! A cache of records that were read lately, so that the records every run asks for cost no query.
//!
//! Only the writer thread changes rows. It updates the cache after its transaction is on disk and before it answers the
//! callers, so a read that begins after an answer sees what was committed. A read that began before such a change may
//! hold an old value: it took a stamp when it began, and a value with an old stamp is not cached.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::HashMap;
use crate::{Page, Record, Records, Tenant};

/// Bound of all values together; when it is reached the cache is cleared and fills again. Ten thousand sources fit.
const HELD_BYTES: usize = 24 << 20;
/// A larger value is not cached: programs are the large ones, and the pool of programs holds them already.
const VALUE_BYTES: usize = 32 << 10;
/// What holding an entry costs besides its value, roughly.
const ENTRY_BYTES: usize = 256;
/// The one page that is cached, because every run asks for it: whether a tenant has a record of a kind, and the newest.
const NEWEST: Page = Page { after: None, before: None, limit: 1 };

/// What a committed batch did to a record.
pub(super) enum RecordChange {
    Put { kind: String, id: String, alias: Option<String>, version: u64, value: Bytes },
    Delete { kind: String, id: String },
}

/// How far changes had come when a read began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64);

#[derive(Default)]
pub(super) struct RecordCache {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By tenant, then by kind.
    tenants: HashMap<Tenant, HashMap<String, KindCache>>,
    stamps: u64,
    held_bytes: usize,
}

struct KindCache {
    stamp: Stamp,
    /// By id; `None` is cached absence.
    records: HashMap<String, Option<Record>>,
    newest: Option<Records>,
}

// === impl RecordCache ===

impl RecordCache {
    /// A record by its id, if it is cached; otherwise the stamp for [`RecordCache::keep_record`].
    pub(super) fn record(&self, tenant: &Tenant, kind: &str, id: &str) -> Result<Option<Record>, Stamp> {
        let mut state = self.lock();
        let found = state.kind_cache(tenant, kind).and_then(|kind_cache| kind_cache.records.get(id));
        found.cloned().ok_or_else(|| state.begin(tenant, kind))
    }

    /// A page, if it is the one that is cached.
    pub(super) fn page(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Option<Stamp>> {
        if page != NEWEST {
            return Err(None);
        }
        let mut state = self.lock();
        let found = state.kind_cache(tenant, kind).and_then(|kind_cache| kind_cache.newest.clone());
        found.ok_or_else(|| Some(state.begin(tenant, kind)))
    }

    pub(super) fn keep_record(&self, begun: Stamp, tenant: &Tenant, kind: &str, id: &str, found: &Option<Record>) {
        let size_bytes = found.as_ref().map_or(0, |record| record.value.len());
        self.lock().keep(begun, (tenant, kind), size_bytes, |kind_cache| {
            kind_cache.records.insert(id.to_owned(), found.clone());
        });
    }

    pub(super) fn keep_page(&self, begun: Stamp, tenant: &Tenant, kind: &str, found: &Records) {
        let size_bytes = found.items.iter().map(|record| record.value.len()).sum();
        self.lock().keep(begun, (tenant, kind), size_bytes, |kind_cache| kind_cache.newest = Some(found.clone()));
    }

    /// What was committed, in order.
    pub(super) fn change(&self, changes: Vec<(Tenant, RecordChange)>) {
        if changes.is_empty() {
            return;
        }
        let mut state = self.lock();
        for (tenant, change) in changes {
            state.change(&tenant, change);
        }
    }

    /// Clears the cache: after a failed transaction it is unknown what was committed.
    pub(super) fn forget(&self) {
        self.lock().forget();
    }

    pub(super) fn held_bytes(&self) -> u64 {
        self.lock().held_bytes as u64
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// Stamps are never reused, so a kind that was evicted and read again has another one.
    fn next_stamp(&mut self) -> Stamp {
        self.stamps += 1;
        Stamp(self.stamps)
    }

    fn kind_cache(&self, tenant: &Tenant, kind: &str) -> Option<&KindCache> {
        self.tenants.get(tenant)?.get(kind)
    }

    /// A read begins. From now on changes of its kind are noted.
    fn begin(&mut self, tenant: &Tenant, kind: &str) -> Stamp {
        if let Some(kind_cache) = self.kind_cache(tenant, kind) {
            return kind_cache.stamp;
        }
        self.make_room(ENTRY_BYTES);
        let stamp = self.next_stamp();
        let kind_cache = KindCache { stamp, records: HashMap::default(), newest: None };
        self.tenants.entry(tenant.clone()).or_default().insert(kind.to_owned(), kind_cache);
        stamp
    }

    fn make_room(&mut self, size_bytes: usize) {
        if self.held_bytes + size_bytes > HELD_BYTES {
            self.forget();
        }
        self.held_bytes += size_bytes;
    }

    fn keep(&mut self, begun: Stamp, name: (&Tenant, &str), size_bytes: usize, put: impl FnOnce(&mut KindCache)) {
        if size_bytes > VALUE_BYTES {
            return;
        }
        self.make_room(size_bytes + ENTRY_BYTES);
        let (tenant, kind) = name;
        let kind_cache = self.tenants.get_mut(tenant).and_then(|tenants| tenants.get_mut(kind));
        if let Some(kind_cache) = kind_cache.filter(|kind_cache| kind_cache.stamp == begun) {
            put(kind_cache);
        }
    }

    fn change(&mut self, tenant: &Tenant, change: RecordChange) {
        let stamp = self.next_stamp();
        let kind = match &change {
            RecordChange::Put { kind, .. } | RecordChange::Delete { kind, .. } => kind,
        };
        let Some(kind_cache) = self.tenants.get_mut(tenant).and_then(|tenants| tenants.get_mut(kind)) else {
            return;
        };
        kind_cache.stamp = stamp;
        kind_cache.newest = None;
        let (before, after) = kind_cache.change(change);
        self.held_bytes = (self.held_bytes + after).saturating_sub(before);
    }

    fn forget(&mut self) {
        self.tenants.clear();
        self.held_bytes = 0;
    }
}

// === impl KindCache ===

impl KindCache {
    /// Returns how many bytes were held, and are held now.
    fn change(&mut self, change: RecordChange) -> (usize, usize) {
        let held = |found: &Option<Record>| ENTRY_BYTES + found.as_ref().map_or(0, |record| record.value.len());
        match change {
            RecordChange::Put { id, alias, version, value, .. } => {
                // Replacing a record does not move it; only the place of a new one is not known here.
                if let Some(Some(record)) = self.records.get_mut(&id)
                    && value.len() <= VALUE_BYTES
                {
                    let sizes = (record.value.len(), value.len());
                    *record = Record { id, alias, version, position: record.position, value };
                    return sizes;
                }
                (self.records.remove(&id).as_ref().map_or(0, held), 0)
            }
            RecordChange::Delete { id, .. } => (self.records.remove(&id).as_ref().map_or(0, held), 0),
        }
    }
}

#[cfg(test)]
mod tests;
