//! Where the values of a run lie: in the component's own `db`, or in a data store of the account.
//!
//! Both are part of the run's transaction. A data store counts once the run has found it: until then a key of that form is
//! one of `db`, so that nothing is written to a store that does not exist.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use bytes::Bytes;
use domain::data_stores::{Asked, Entry};
use domain::ids::DataStoreId;
use store::{Op, Precondition};

use super::{Transaction, service_error};
use crate::data_stores;
use crate::invoke::services::{last_writes, shown_key, stored_key};
use crate::ports::{ServiceError, Write};
use crate::records::{DataStore, Stored, names};

/// Where a value of a run lies.
pub(super) struct Place {
    pub(super) scope: String,
    pub(super) key: String,
    /// The data store it is of; none when it is of the component's own `db`.
    pub(super) store: Option<DataStoreId>,
}

// === impl Transaction ===

impl Transaction {
    /// What the run asks for with a key of `db`, as JSON.
    pub(crate) async fn answer(&self, key: &str) -> Result<Option<String>, ServiceError> {
        let text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        let (platform, tenant) = (&self.platform, &self.tenant);
        match Asked::parse(key).filter(|_| self.has_data_stores) {
            None => Ok(self.read(key).await?.map(text)),
            Some(Asked::Value { .. }) => {
                let now_ms = platform.clock.now_ms();
                let is_there = |bytes: &Bytes| Entry::parse(bytes).is_some_and(|entry| !entry.is_over(now_ms));
                Ok(self.read(key).await?.filter(is_there).map(text))
            }
            Some(Asked::Store { name }) => {
                let found = self.ask(data_stores::find(platform, tenant, name)).await.map_err(service_error)?;
                let Some(kept) = found else {
                    // Deleted since an earlier attempt: nothing of that one is committed.
                    self.stores().clear();
                    return Ok(None);
                };
                let id = kept.record.id.to_string();
                self.stores().insert(id.clone(), kept.version);
                Ok(Some(serde_json::Value::String(id).to_string()))
            }
            Some(Asked::Keys { store, after }) => {
                let keys = self.ask(data_stores::keys(platform, tenant, store, after)).await;
                let keys = keys.map_err(service_error)?;
                Ok(Some(keys.to_string()))
            }
        }
    }

    /// The operations that store what the run wrote; of several to one key the last one counts.
    pub(crate) fn write_operations(&self, writes: Vec<Write>) -> Vec<Op> {
        let mut operations = Vec::with_capacity(writes.len());
        for Write { key, value } in last_writes(writes) {
            let Place { scope, key, store } = self.place(&stored_key(&key));
            let limits = &self.platform.config.limits;
            let cap_bytes = if store.is_some() { limits.data_store_bytes } else { limits.db_source_bytes };
            let Some(value) = value.map(Bytes::from) else {
                operations.push(Op::RemoveValue { scope, key });
                continue;
            };
            let expires_ms = store.as_ref().and_then(|_| Entry::parse(&value)?.expires_ms);
            if let (Some(id), Some(expires_ms)) = (store, expires_ms) {
                // An id and a time always have a JSON form.
                operations.extend(data_stores::expiry_operation(&id, expires_ms));
            }
            operations.push(Op::SetValue { scope, key, value, cap_bytes: cap_bytes as u64 });
        }
        operations
    }

    /// Where a value lies.
    pub(super) fn place(&self, stored: &str) -> Place {
        let shown = shown_key(stored);
        if let Some(Asked::Value { store, key }) = Asked::parse(&shown).filter(|_| self.has_data_stores)
            && self.stores().contains_key(store)
        {
            let id = DataStoreId::parse(store).ok();
            return Place { scope: names::data_store(store), key: stored_key(key), store: id };
        }
        Place { scope: self.scope.clone(), key: stored.to_owned(), store: None }
    }

    /// None of the data stores was deleted: what is written to one would stay for ever.
    pub(super) fn stores_are_there(&self) -> Vec<Precondition> {
        let kind = || DataStore::KIND.to_owned();
        let is_there = |(id, version): (&String, &u64)| Precondition::RecordVersion {
            kind: kind(),
            id: id.clone(),
            version: *version,
        };
        self.stores().iter().map(is_there).collect()
    }

    pub(super) fn unlock_operations(&self) -> Vec<Op> {
        let stores = self.stores();
        let scopes = stores.keys().map(|id| names::data_store(id)).chain([self.scope.clone()]);
        scopes.map(|scope| Op::Unlock { scope }).collect()
    }

    fn stores(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
