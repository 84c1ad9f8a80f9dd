//! What a tenant can look at: records, streams, values and counters.
//!
//! Reads see every batch whose commit was answered before the read began. They take no part in
//! commits: what must not change in between is said by a precondition.

use async_trait::async_trait;
use bytes::Bytes;

use crate::{EntryId, Error, Tenant};

/// Greatest `limit` of a read; a larger one is taken as this.
pub const MAX_PAGE: u32 = 1000;

/// Obligations: nothing of another tenant is ever returned; an unknown name is empty, not an error.
#[async_trait]
pub trait Reads: Send + Sync {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error>;

    /// The same of a record that may be a moment old: what this process commits counts at once, what another host commits within
    /// milliseconds, and within a second at the latest. For what is asked with every request.
    async fn recent_record(&self, tenant: &Tenant, kind: &str, id: &str) -> Result<Option<Record>, Error> {
        self.record(tenant, kind, Lookup::Id(id)).await
    }

    /// Newest first, by creation; replacing a record does not move it.
    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error>;

    /// The streams of an emitter that were ever written, by name.
    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error>;

    /// The newest id that was ever given to an entry of the emitter, also when the entry is gone by now.
    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error>;

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error>;

    /// The values of `keys`, in their order, and how many bytes the whole scope holds.
    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error>;

    /// Keys of a scope in their order, those after `after`, and how many there are in all.
    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error>;

    /// In order of `counters`; one that was never counted is 0.
    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error>;

    /// What the tenant's records, entries and values take, about: an engine may count its own overhead. It looks at all of
    /// them, so it is not for every run.
    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error>;
}

#[derive(Debug, Clone, Copy)]
pub enum Lookup<'name> {
    Id(&'name str),
    Alias(&'name str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub id: String,
    pub alias: Option<String>,
    /// 1 when created, one more with each replacement.
    pub version: u64,
    /// Order of creation within the tenant and kind, never reused: the cursor of a page.
    pub position: u64,
    pub value: Bytes,
}

/// A page of a list that is newest first: `after` a position are older records, `before` it newer
/// ones. With `before` the page holds the records closest to the cursor. Both together: between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub after: Option<u64>,
    pub before: Option<u64>,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    pub items: Vec<Record>,
    /// All records of the kind, not only this page's.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    pub name: String,
    pub count: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    NewestFirst,
    OldestFirst,
}

/// Entries of the inclusive range. "After an id" starts at its [`EntryId::successor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryQuery {
    pub first: Option<EntryId>,
    pub last: Option<EntryId>,
    pub order: Order,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: EntryId,
    pub value: Bytes,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    pub found: Vec<Option<Bytes>>,
    /// Keys and values together.
    pub size_bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    pub found: Vec<KeyInfo>,
    /// All keys of the scope, not only this page's.
    pub total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    pub key: String,
    /// Of the value.
    pub size_bytes: u64,
}

// === impl Page ===

impl Page {
    pub fn newest(limit: u32) -> Self {
        Self { after: None, before: None, limit }
    }

    pub(crate) fn bounded_limit(self) -> u32 {
        self.limit.min(MAX_PAGE)
    }

    /// Walk towards newer records and turn the result round: only then is the page next to `before`.
    pub(crate) fn ascends(self) -> bool {
        self.before.is_some() && self.after.is_none()
    }
}

// === impl EntryQuery ===

impl EntryQuery {
    pub fn newest(limit: u32) -> Self {
        Self { first: None, last: None, order: Order::NewestFirst, limit }
    }

    /// Oldest first from the first entry after `id`.
    pub fn after(id: EntryId, limit: u32) -> Self {
        Self { first: Some(id.successor()), last: None, order: Order::OldestFirst, limit }
    }

    pub fn only(id: EntryId) -> Self {
        Self { first: Some(id), last: Some(id), order: Order::OldestFirst, limit: 1 }
    }

    pub(crate) fn bounded_limit(self) -> u32 {
        self.limit.min(MAX_PAGE)
    }
}
