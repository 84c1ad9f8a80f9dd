//! Looks up the source or workflow of an endpoint's key, with one read.
//!
//! The store is asked for the source's record every time. It knows a change of this host at once, and one of another host within
//! milliseconds. What is saved is taking the record apart again when its version is the one held. A key belongs to one source for ever, so where it leads is held as well.

use std::sync::Arc;

use domain::ids::{EndpointKey, SourceId, WorkflowId};
use metrics::{CacheUse, Family, of_caches};
use serde::Deserialize;
use store::{Lookup, Store, Tenant};

use crate::Error;
use crate::held::Held;
use crate::records::{Source, Stored, Workflow, decode, names, table};

/// Sources that are held: some thousand.
const SOURCES_BYTES: usize = 16 << 20;
/// A record that was taken apart takes about so many times the bytes of its text.
const TAKEN_APART: usize = 3;
/// Keys and where they lead: as many as there is room for without their names.
const ENDPOINTS_BYTES: usize = 8 << 20;

pub(crate) struct Sources {
    endpoints: Held<EndpointKey, Address>,
    sources: Held<SourceId, CachedSource>,
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

impl Default for Sources {
    fn default() -> Self {
        let (endpoints, sources) = (Held::new(ENDPOINTS_BYTES), Held::new(SOURCES_BYTES));
        Self { endpoints, sources, uses: CacheUse::default() }
    }
}

impl Sources {
    pub(crate) async fn at_endpoint(
        &self,
        store: &dyn Store,
        key: &EndpointKey,
    ) -> Result<Option<(Tenant, Found)>, Error> {
        let address = match self.endpoints.get(key) {
            Some(address) => address,
            None => {
                let Some(address) = look_up(store, key).await? else {
                    return Ok(None);
                };
                self.endpoints.put(key.clone(), address.clone(), 0);
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
            self.endpoints.remove(key);
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
            self.sources.remove(id);
            return Ok(None);
        };
        let held = self.sources.get(id).filter(|held| held.version == record.version);
        self.uses.note(held.is_some());
        if let Some(held) = held {
            return Ok(Some(held.source));
        }
        let source: Arc<Source> = Arc::new(decode(&record.value)?);
        let cached = CachedSource { version: record.version, source: source.clone() };
        self.sources.put(id.clone(), cached, record.value.len().saturating_mul(TAKEN_APART));
        Ok(Some(source))
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        of_caches("sources", &self.uses, self.sources.size())
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
