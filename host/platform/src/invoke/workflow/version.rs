//! What a run goes through, ready to be used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::WorkflowId;
use domain::workflow::Document;
use store::{Lookup, Tenant};

use crate::records::{RecordError, Step, WorkflowVersion, table};
use crate::{Error, Platform};

/// Versions held at once; what is dropped is read again.
const HELD: usize = 1024;

pub(crate) struct Version {
    pub(crate) record: WorkflowVersion,
    pub(crate) document: Document,
}

/// They never change, so what is held stays true.
#[derive(Default)]
pub(crate) struct Versions {
    held: Mutex<HashMap<(Tenant, String), Arc<Version>>>,
}

// === impl Version ===

impl Version {
    pub(crate) fn new(record: WorkflowVersion) -> Result<Self, Error> {
        // It was checked when it was deployed, against the bounds of that time.
        let document = Document::parse(&record.document, 0).map_err(|problems| {
            let message = problems.first().map(ToString::to_string).unwrap_or_default();
            RecordError::Malformed { kind: "workflow_version", source: serde::de::Error::custom(message) }
        })?;
        Ok(Self { record, document })
    }

    /// The code of a step.
    pub(crate) fn step(&self, namespace: &str) -> Option<&Step> {
        self.record.steps.iter().find(|step| step.name == namespace)
    }
}

// === impl Versions ===

impl Versions {
    pub(crate) async fn find(
        &self,
        platform: &Platform,
        tenant: &Tenant,
        workflow: &WorkflowId,
        number: u32,
    ) -> Result<Option<Arc<Version>>, Error> {
        let key = (tenant.clone(), WorkflowVersion::id_of(workflow, number));
        if let Some(held) = self.lock().get(&key) {
            return Ok(Some(held.clone()));
        }
        let found = table::find::<WorkflowVersion>(&*platform.store, tenant, Lookup::Id(&key.1)).await?;
        let Some(kept) = found else { return Ok(None) };
        let version = Arc::new(Version::new(kept.record)?);
        let mut held = self.lock();
        if held.len() >= HELD {
            held.clear();
        }
        held.insert(key, version.clone());
        Ok(Some(version))
    }

    /// Of a workflow that is gone, or whose secrets were sealed anew.
    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.lock().retain(|(held, _), _| held != tenant);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Tenant, String), Arc<Version>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
