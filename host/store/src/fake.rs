//! The store in memory: what other crates test against, and the model both engines are compared to.
//!
//! Written for being obviously right, not for speed: a commit works on a copy of the tenant's state
//! and of the order of work, and puts the copies in place when everything went well.

mod apply;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use crate::feed::{Bounds, Feed};
use crate::locks::Locks;
use crate::pulse::makes_work;
use crate::queue::{WaitingHead, index::Index};
use crate::{
    Batch, CommitError, Committed, Directory, DirectoryWrite, Entry, EntryId, EntryQuery, Error, Head, Job, JobId,
    KeyInfo, Keys, Lease, LeaseRequest, Leased, Live, Load, Lookup, Order, PARTITIONS, Page, Part, Partition, Pulse,
    Reads, Record, Records, Shares, Store, StreamInfo, Tenant, Tick, Values, Work,
};

pub struct Memory {
    state: Mutex<State>,
    is_full: AtomicBool,
    is_read_only: AtomicBool,
    pulse: Pulse,
    feed: Feed,
}

struct State {
    tenants: HashMap<Tenant, Owned>,
    index: Index,
    locks: Locks,
    directory: HashMap<String, Bytes>,
    last_position: u64,
    joining: Joining,
}

/// Parts that wait for others.
#[derive(Default)]
struct Joining {
    at: usize,
    parts: Vec<Part>,
}

/// Everything of one tenant.
#[derive(Default, Clone)]
struct Owned {
    records: BTreeMap<String, BTreeMap<String, Record>>,
    emitters: BTreeMap<String, Emitter>,
    scopes: BTreeMap<String, BTreeMap<String, Bytes>>,
    counters: BTreeMap<String, i64>,
    jobs: BTreeMap<JobId, StoredJob>,
    timers: BTreeMap<String, StoredTimer>,
}

#[derive(Default, Clone)]
struct Emitter {
    last: Option<EntryId>,
    streams: BTreeMap<String, BTreeMap<EntryId, Bytes>>,
}

#[derive(Clone)]
struct StoredJob {
    lane: Option<String>,
    due_ms: u64,
    attempt: u32,
    payload: Bytes,
    entry: Option<EntryId>,
}

#[derive(Clone)]
struct StoredTimer {
    due_ms: u64,
    schedule: Bytes,
}

// === impl Joining ===

impl Joining {
    fn join(&mut self, mut batch: Batch) -> Result<Batch, CommitError> {
        if self.at < 2 {
            return batch.with_parts_alone();
        }
        self.parts.append(&mut batch.parts);
        if self.parts.len() >= self.at
            && let Some(first) = self.parts.first()
        {
            let contents: Vec<Bytes> = self.parts.iter().map(|part| part.content.clone()).collect();
            let joined = first.joined(&batch.tenant, &contents)?;
            self.parts.clear();
            batch.operations.push(joined);
        }
        Ok(batch)
    }
}

// === impl Memory ===

impl Default for Memory {
    fn default() -> Self {
        let index = Index::new(PARTITIONS, 0);
        let (tenants, directory) = (HashMap::new(), HashMap::new());
        let state =
            State { tenants, index, locks: Locks::default(), directory, last_position: 0, joining: Joining::default() };
        Self {
            state: Mutex::new(state),
            is_full: AtomicBool::new(false),
            is_read_only: AtomicBool::new(false),
            pulse: Pulse::new(),
            feed: Feed::new(Bounds::default()),
        }
    }
}

impl Memory {
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on it is as a store on a full disk, or no longer.
    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// From now on it is as one behind [`crate::ReadOnly`], or no longer.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.is_read_only.store(is_read_only, Ordering::Relaxed);
    }

    /// From now on parts of entries wait until there are so many, as if their batches met. They are to be of one entry.
    pub fn join_parts(&self, at: usize) {
        self.state().joining.at = at;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A commit replaces whole copies at its end, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owned<Found>(&self, tenant: &Tenant, read: impl FnOnce(&Owned) -> Found) -> Found
    where
        Found: Default,
    {
        self.state().tenants.get(tenant).map(read).unwrap_or_default()
    }
}

#[async_trait]
impl Store for Memory {
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.check()?;
        if self.is_read_only() {
            return Err(Error::WritesRefused.into());
        }
        if self.is_full.load(Ordering::Relaxed) {
            let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
            return Err(Error::from(rusqlite::Error::SqliteFailure(full, None)).into());
        }
        let mut state = self.state();
        let batch = state.joining.join(batch)?;
        let committed = state.commit(&batch)?;
        // Before the next commit, so that entries are published in order.
        self.feed.publish(self.feed.note(&batch.tenant, &batch.operations, &committed.entries));
        drop(state);
        if makes_work(&batch) {
            self.pulse.work_is_there();
        }
        Ok(committed)
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        let _between_commits = self.state();
        Ok(self.feed.join(tenant, emitter))
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only.load(Ordering::Relaxed)
    }

    fn partitions(&self) -> u16 {
        PARTITIONS
    }
}

#[async_trait]
impl Reads for Memory {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        Ok(self.owned(tenant, |owned| {
            owned
                .records
                .get(kind)?
                .values()
                .find(|record| match lookup {
                    Lookup::Id(id) => record.id == id,
                    Lookup::Alias(alias) => record.alias.as_deref() == Some(alias),
                })
                .cloned()
        }))
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        let mut items: Vec<Record> = self.owned(tenant, |owned| {
            owned.records.get(kind).map(|kind| kind.values().cloned().collect()).unwrap_or_default()
        });
        let total = count(items.len());
        items.sort_by_key(|record| record.position);
        items.retain(|record| {
            page.after.is_none_or(|cursor| record.position < cursor)
                && page.before.is_none_or(|cursor| record.position > cursor)
        });
        if !page.ascends() {
            items.reverse();
        }
        items.truncate(size(page.bounded_limit()));
        if page.ascends() {
            items.reverse();
        }
        Ok(Records { items, total })
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        Ok(self.owned(tenant, |owned| {
            let streams = owned.emitters.get(emitter).into_iter().flat_map(|emitter| &emitter.streams);
            streams.map(|(name, entries)| StreamInfo { name: name.clone(), count: count(entries.len()) }).collect()
        }))
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        Ok(self.owned(tenant, |owned| owned.emitters.get(emitter)?.last))
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        let mut found: Vec<Entry> = self.owned(tenant, |owned| {
            let stream = owned.emitters.get(emitter).and_then(|emitter| emitter.streams.get(stream));
            stream.into_iter().flatten().map(|(id, value)| Entry { id: *id, value: value.clone() }).collect()
        });
        found.retain(|entry| {
            query.first.is_none_or(|first| entry.id >= first) && query.last.is_none_or(|last| entry.id <= last)
        });
        if query.order == Order::NewestFirst {
            found.reverse();
        }
        found.truncate(size(query.bounded_limit()));
        Ok(found)
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        let scope = self.owned(tenant, |owned| owned.scopes.get(scope).cloned().unwrap_or_default());
        let found = keys.iter().map(|key| scope.get(key).cloned()).collect();
        Ok(Values { found, size_bytes: apply::scope_size(&scope) })
    }

    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        let scope = self.owned(tenant, |owned| owned.scopes.get(scope).cloned().unwrap_or_default());
        let wanted = scope.iter().filter(|(key, _)| after.is_none_or(|after| key.as_str() > after));
        let info = |(key, value): (&String, &Bytes)| KeyInfo { key: key.clone(), size_bytes: value.len() as u64 };
        Ok(Keys { found: wanted.take(limit as usize).map(info).collect(), total: scope.len() as u64 })
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        let known = self.owned(tenant, |owned| owned.counters.clone());
        Ok(counters.iter().map(|name| known.get(name).copied().unwrap_or_default()).collect())
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        Ok(self.owned(tenant, |owned| {
            let records = owned.records.values().flat_map(BTreeMap::values).map(|record| count(record.value.len()));
            let streams = owned.emitters.values().flat_map(|emitter| emitter.streams.values());
            let entries = streams.flat_map(BTreeMap::values).map(|value| count(value.len()));
            records.chain(entries).chain(owned.scopes.values().map(apply::scope_size)).sum()
        }))
    }
}

#[async_trait]
impl Work for Memory {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        Ok(self.state().lease_jobs(partitions, request, shares))
    }

    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        Ok(self.state().lease_timers(partitions, request))
    }

    async fn extend(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> Result<(), CommitError> {
        self.state().extend(tenant, lease, until_ms)
    }

    async fn load(&self, now_ms: u64) -> Result<Load, Error> {
        Ok(self.state().index.load(now_ms))
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        let state = self.state();
        let Some(owned) = state.tenants.get(tenant) else { return Ok(Vec::new()) };
        let head = |WaitingHead { job, available_ms, behind }| {
            let StoredJob { attempt, payload, .. } = owned.jobs.get(&job)?.clone();
            Some(Head { available_ms, attempt, behind, payload })
        };
        Ok(state.index.heads(tenant, skip, limit).into_iter().filter_map(head).collect())
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }
}

#[async_trait]
impl Directory for Memory {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        Ok(self.state().directory.get(key).cloned())
    }

    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error> {
        let directory = &mut self.state().directory;
        Ok(match write {
            DirectoryWrite::Put { key, value } => {
                directory.insert(key, value);
                true
            }
            DirectoryWrite::Claim { key, value } => *directory.entry(key).or_insert_with(|| value.clone()) == value,
            DirectoryWrite::Remove { key } => {
                directory.remove(&key);
                true
            }
        })
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
