//! Looks up the source of an endpoint's key, with one read.
//!
//! The source's record is read every time, so a change counts at once on every host; what is saved is taking it apart
//! again when its version is the one held. A key belongs to one source for ever, so where it leads is held as well.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::{EndpointKey, SourceId};
use metrics::{CacheUse, Family, of_caches};
use serde::Deserialize;
use store::{Lookup, Store, Tenant};

use crate::Error;
use crate::records::{Source, Stored, decode, names};

/// Keys, and sources, held at once; what is dropped is read again.
const HELD: usize = 16_384;

#[derive(Default)]
pub(crate) struct Sources {
    endpoints: Mutex<HashMap<EndpointKey, Address>>,
    sources: Mutex<HashMap<SourceId, CachedSource>>,
    uses: CacheUse,
}

#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) tenant: Tenant,
    pub(crate) source: SourceId,
}

#[derive(Clone)]
struct CachedSource {
    version: u64,
    source: Arc<Source>,
}

// === impl Sources ===

impl Sources {
    pub(crate) async fn at_endpoint(
        &self,
        store: &dyn Store,
        key: &EndpointKey,
    ) -> Result<Option<(Tenant, Arc<Source>)>, Error> {
        let held = lock(&self.endpoints).get(key).cloned();
        let address = match held {
            Some(address) => address,
            None => {
                let Some(address) = look_up(store, key).await? else {
                    return Ok(None);
                };
                hold(&self.endpoints, key.clone(), address.clone());
                address
            }
        };
        let Some(source) = self.find(store, &address.tenant, &address.source).await? else {
            lock(&self.endpoints).remove(key);
            return Ok(None);
        };
        Ok(Some((address.tenant, source)))
    }

    pub(crate) async fn find(
        &self,
        store: &dyn Store,
        tenant: &Tenant,
        id: &SourceId,
    ) -> Result<Option<Arc<Source>>, Error> {
        let Some(record) = store.record(tenant, Source::KIND, Lookup::Id(id.as_str())).await? else {
            lock(&self.sources).remove(id);
            return Ok(None);
        };
        let held = lock(&self.sources).get(id).filter(|held| held.version == record.version).cloned();
        self.uses.note(held.is_some());
        if let Some(held) = held {
            return Ok(Some(held.source));
        }
        let source: Arc<Source> = Arc::new(decode(&record.value)?);
        hold(&self.sources, id.clone(), CachedSource { version: record.version, source: source.clone() });
        Ok(Some(source))
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        let entries = lock(&self.sources).len() as u64;
        of_caches("sources", &self.uses, (Some(entries), None))
    }
}

/// An entry that cannot be read leads nowhere, as one that points at something that is gone.
async fn look_up(store: &dyn Store, key: &EndpointKey) -> Result<Option<Address>, Error> {
    #[derive(Deserialize)]
    struct Entry {
        tenant: String,
        source: SourceId,
    }
    let Some(bytes) = store.look_up(&names::endpoint(key)).await? else {
        return Ok(None);
    };
    let entry = serde_json::from_slice::<Entry>(&bytes).ok();
    Ok(entry.and_then(|entry| Some(Address { tenant: Tenant::parse(&entry.tenant).ok()?, source: entry.source })))
}

fn hold<Key: std::hash::Hash + Eq, Value>(map: &Mutex<HashMap<Key, Value>>, key: Key, value: Value) {
    let mut map = lock(map);
    if map.len() >= HELD {
        map.clear();
    }
    map.insert(key, value);
}

fn lock<Value>(mutex: &Mutex<Value>) -> MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
