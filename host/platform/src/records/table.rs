//! Typed reads and writes over the store's records.

use store::{Lookup, Op, Page, Precondition, Reads, Tenant};

use super::{RecordError, Stored, decode, encode};

/// A record as it was read, with what the store knows about it.
#[derive(Clone, Debug)]
pub struct Kept<R> {
    pub record: R,
    /// For [`unchanged`].
    pub version: u64,
    /// Its place in the list, newest greatest.
    pub position: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// One page of a list, newest first.
pub struct Listed<R> {
    pub items: Vec<Kept<R>>,
    pub total: u64,
}

/// One page of a list, newest first, without what a newer version wrote.
pub struct Readable<R> {
    pub items: Vec<R>,
    /// The ids and places of all, also of those that were left out.
    pub places: Vec<(String, u64)>,
    /// The ids of those that were left out.
    pub unreadable: Vec<String>,
    pub total: u64,
}

// === impl Kept ===

impl<R> Kept<R> {
    /// As it is after one more write, if no other write came in between.
    pub fn rewritten(self) -> Self {
        Self { version: self.version + 1, ..self }
    }
}

pub async fn find<R: Stored>(
    store: &(impl Reads + ?Sized),
    tenant: &Tenant,
    lookup: Lookup<'_>,
) -> Result<Option<Kept<R>>, TableError> {
    let Some(found) = store.record(tenant, R::KIND, lookup).await? else {
        return Ok(None);
    };
    Ok(Some(Kept { record: decode(&found.value)?, version: found.version, position: found.position }))
}

pub async fn list<R: Stored>(
    store: &(impl Reads + ?Sized),
    tenant: &Tenant,
    page: Page,
) -> Result<Listed<R>, TableError> {
    let found = store.records(tenant, R::KIND, page).await?;
    let kept = |found: store::Record| {
        Ok(Kept { record: decode(&found.value)?, version: found.version, position: found.position })
    };
    let items = found.items.into_iter().map(kept).collect::<Result<Vec<_>, RecordError>>()?;
    Ok(Listed { items, total: found.total })
}

/// For looking at: while hosts are upgraded one by one, a record of a newer one is left out, and the rest is shown. What
/// decides about work uses [`list`], which fails instead: the host that can read it does the work.
pub async fn list_readable<R: Stored>(
    store: &(impl Reads + ?Sized),
    tenant: &Tenant,
    page: Page,
) -> Result<Readable<R>, TableError> {
    let found = store.records(tenant, R::KIND, page).await?;
    let places = found.items.iter().map(|found| (found.id.clone(), found.position)).collect();
    let (mut items, mut unreadable) = (Vec::with_capacity(found.items.len()), Vec::new());
    for found in found.items {
        match decode(&found.value) {
            Ok(record) => items.push(record),
            Err(error) if error.is_unreadable() => unreadable.push(found.id),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Readable { items, places, unreadable, total: found.total })
}

/// The whole list, newest first. For kinds whose number per tenant is bounded.
pub async fn list_all<R: Stored>(store: &(impl Reads + ?Sized), tenant: &Tenant) -> Result<Vec<Kept<R>>, TableError> {
    let mut all: Vec<Kept<R>> = Vec::new();
    loop {
        let after = all.last().map(|kept| kept.position);
        let listed = list(store, tenant, Page { after, before: None, limit: store::MAX_PAGE }).await?;
        if listed.items.is_empty() {
            return Ok(all);
        }
        all.extend(listed.items);
    }
}

pub fn put<R: Stored>(record: &R) -> Result<Op, RecordError> {
    let value = encode(record)?;
    Ok(Op::PutRecord { kind: R::KIND.to_owned(), id: record.id(), alias: record.alias(), value })
}

pub fn delete<R: Stored>(record: &R) -> Op {
    Op::DeleteRecord { kind: R::KIND.to_owned(), id: record.id() }
}

/// The record was not written since it was read.
pub fn unchanged<R: Stored>(kept: &Kept<R>) -> Precondition {
    Precondition::RecordVersion { kind: R::KIND.to_owned(), id: kept.record.id(), version: kept.version }
}

pub fn absent<R: Stored>(record: &R) -> Precondition {
    Precondition::RecordAbsent { kind: R::KIND.to_owned(), id: record.id() }
}
