//! Records that were read lately, so that what every run asks for costs no query.
//!
//! Only the one writer changes rows, and it says so here after its transaction is on disk and before anybody is
//! answered: whoever asks after an answer finds what was committed. A reader that began before such a change must not
//! leave behind what it saw; the stamp it took when it began tells.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::{Page, Record, Records, Tenant};

/// Values held in all; when it is reached everything is forgotten and read again. Ten thousand sources fit.
const HELD_BYTES: usize = 24 << 20;
/// A larger value is not worth its room: a program is read once and held by those who run it.
const VALUE_BYTES: usize = 32 << 10;
/// What holding an entry costs besides its value, roughly.
const ENTRY_BYTES: usize = 256;
/// Every turn asks for it: whether a tenant has any of a kind, and which is the newest.
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
pub(super) struct Remembered {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By tenant, then by kind.
    shelves: HashMap<Tenant, HashMap<String, Shelf>>,
    stamps: u64,
    held_bytes: usize,
}

struct Shelf {
    stamp: Stamp,
    /// `None` is known not to be there.
    records: HashMap<String, Option<Record>>,
    newest: Option<Records>,
}

// === impl Remembered ===

impl Remembered {
    /// A record by its id, if it is known; otherwise what to hand to [`Remembered::keep_record`].
    pub(super) fn record(&self, tenant: &Tenant, kind: &str, id: &str) -> Result<Option<Record>, Stamp> {
        let mut state = self.lock();
        let found = state.shelf(tenant, kind).and_then(|shelf| shelf.records.get(id));
        found.cloned().ok_or_else(|| state.begin(tenant, kind))
    }

    /// A page, if it is the one that is remembered.
    pub(super) fn page(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Option<Stamp>> {
        if page != NEWEST {
            return Err(None);
        }
        let mut state = self.lock();
        let found = state.shelf(tenant, kind).and_then(|shelf| shelf.newest.clone());
        found.ok_or_else(|| Some(state.begin(tenant, kind)))
    }

    pub(super) fn keep_record(&self, begun: Stamp, tenant: &Tenant, kind: &str, id: &str, found: &Option<Record>) {
        let size_bytes = found.as_ref().map_or(0, |record| record.value.len());
        self.lock().keep(begun, (tenant, kind), size_bytes, |shelf| {
            shelf.records.insert(id.to_owned(), found.clone());
        });
    }

    pub(super) fn keep_page(&self, begun: Stamp, tenant: &Tenant, kind: &str, found: &Records) {
        let size_bytes = found.items.iter().map(|record| record.value.len()).sum();
        self.lock().keep(begun, (tenant, kind), size_bytes, |shelf| shelf.newest = Some(found.clone()));
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

    /// After a failure nobody knows what was committed.
    pub(super) fn forget(&self) {
        self.lock().forget();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    /// Stamps are never given twice, so a shelf that was forgotten and begun again is another one.
    fn next_stamp(&mut self) -> Stamp {
        self.stamps += 1;
        Stamp(self.stamps)
    }

    fn shelf(&self, tenant: &Tenant, kind: &str) -> Option<&Shelf> {
        self.shelves.get(tenant)?.get(kind)
    }

    /// A read begins. From now on changes of its kind are noted.
    fn begin(&mut self, tenant: &Tenant, kind: &str) -> Stamp {
        if let Some(shelf) = self.shelf(tenant, kind) {
            return shelf.stamp;
        }
        self.make_room(ENTRY_BYTES);
        let stamp = self.next_stamp();
        let shelf = Shelf { stamp, records: HashMap::new(), newest: None };
        self.shelves.entry(tenant.clone()).or_default().insert(kind.to_owned(), shelf);
        stamp
    }

    fn make_room(&mut self, size_bytes: usize) {
        if self.held_bytes + size_bytes > HELD_BYTES {
            self.forget();
        }
        self.held_bytes += size_bytes;
    }

    fn keep(&mut self, begun: Stamp, name: (&Tenant, &str), size_bytes: usize, put: impl FnOnce(&mut Shelf)) {
        if size_bytes > VALUE_BYTES {
            return;
        }
        self.make_room(size_bytes + ENTRY_BYTES);
        let (tenant, kind) = name;
        let shelf = self.shelves.get_mut(tenant).and_then(|shelves| shelves.get_mut(kind));
        if let Some(shelf) = shelf.filter(|shelf| shelf.stamp == begun) {
            put(shelf);
        }
    }

    fn change(&mut self, tenant: &Tenant, change: RecordChange) {
        let stamp = self.next_stamp();
        let kind = match &change {
            RecordChange::Put { kind, .. } | RecordChange::Delete { kind, .. } => kind,
        };
        let Some(shelf) = self.shelves.get_mut(tenant).and_then(|shelves| shelves.get_mut(kind)) else {
            return;
        };
        shelf.stamp = stamp;
        shelf.newest = None;
        let (before, after) = shelf.change(change);
        self.held_bytes = (self.held_bytes + after).saturating_sub(before);
    }

    fn forget(&mut self) {
        self.shelves.clear();
        self.held_bytes = 0;
    }
}

// === impl Shelf ===

impl Shelf {
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
