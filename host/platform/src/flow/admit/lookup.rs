//! Looks up the source or workflow of an endpoint's key, with one read.
//!
//! The store is asked for the source's record every time. It knows a change of this host at once, and one of another host within
//! milliseconds. What is saved is taking the record apart again when its version is the one held. A key belongs to one source for ever, so where it leads is held as well.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::{EndpointKey, SourceId, WorkflowId};
use metrics::{CacheUse, Family, of_caches};
use serde::Deserialize;
use store::{Lookup, Store, Tenant};

use crate::Error;
use crate::records::{Source, Stored, Workflow, decode, names, table};

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
    tenant: Tenant,
    target: TargetId,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TargetId {
    Source(SourceId),
    Workflow(WorkflowId),
}

/// What answers at an endpoint.
pub(crate) enum Found {
    Source(Arc<Source>),
    Workflow(Arc<Workflow>),
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
    ) -> Result<Option<(Tenant, Found)>, Error> {
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
        let found = match &address.target {
            TargetId::Source(id) => self.find(store, &address.tenant, id).await?.map(Found::Source),
            TargetId::Workflow(id) => {
                let found = table::find::<Workflow>(store, &address.tenant, Lookup::Id(id.as_str())).await?;
                found.map(|kept| Found::Workflow(Arc::new(kept.record)))
            }
        };
        if found.is_none() {
            lock(&self.endpoints).remove(key);
        }
        Ok(found.map(|found| (address.tenant, found)))
    }

    pub(crate) async fn find(
        &self,
        store: &dyn Store,
        tenant: &Tenant,
        id: &SourceId,
    ) -> Result<Option<Arc<Source>>, Error> {
        let Some(record) = store.recent_record(tenant, Source::KIND, id.as_str()).await? else {
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

// === impl Found ===

impl Found {
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Source(source) => source.id.as_str(),
            Self::Workflow(workflow) => workflow.id.as_str(),
        }
    }
}

/// An entry that cannot be read leads nowhere, as one that points at something that is gone.
async fn look_up(store: &dyn Store, key: &EndpointKey) -> Result<Option<Address>, Error> {
    #[derive(Deserialize)]
    struct Entry {
        tenant: String,
        #[serde(flatten)]
        target: TargetId,
    }
    let Some(bytes) = store.look_up(&names::endpoint(key)).await? else {
        return Ok(None);
    };
    let entry = serde_json::from_slice::<Entry>(&bytes).ok();
    Ok(entry.and_then(|entry| Some(Address { tenant: Tenant::parse(&entry.tenant).ok()?, target: entry.target })))
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
