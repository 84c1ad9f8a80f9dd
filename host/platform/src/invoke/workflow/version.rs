//! What a run goes through, ready to be used.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use domain::ids::WorkflowId;
use domain::workflow::Document;
use store::{Lookup, Tenant};

use crate::held::Held;
use crate::records::{RecordError, Step, WorkflowVersion, table};
use crate::{Error, Platform};

/// Versions that are held, with their documents taken apart.
const HELD_BYTES: usize = 32 << 20;
/// What a document takes that was taken apart, twice: as it was given and as it is run.
const TAKEN_APART: usize = 6;

pub(crate) struct Version {
    pub(crate) record: WorkflowVersion,
    pub(crate) document: Document,
}

/// They never change, so what is held stays true.
pub(crate) struct Versions {
    held: Held<(Tenant, String), Arc<Version>>,
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

    /// How long a run may be at work between two pauses.
    pub(crate) fn timeout_ms(&self) -> u64 {
        self.document.settings.timeout_seconds.saturating_mul(1000)
    }

    /// The code of a step.
    pub(crate) fn step(&self, namespace: &str) -> Option<&Step> {
        self.record.steps.iter().find(|step| step.name == namespace)
    }
}

// === impl Versions ===

impl Default for Versions {
    fn default() -> Self {
        Self { held: Held::new(HELD_BYTES) }
    }
}

impl Versions {
    #[boxed]
    pub(crate) async fn find(
        &self,
        platform: &Platform,
        tenant: &Tenant,
        workflow: &WorkflowId,
        number: u32,
    ) -> Result<Option<Arc<Version>>, Error> {
        let key = (tenant.clone(), WorkflowVersion::id_of(workflow, number));
        if let Some(held) = self.held.get(&key) {
            return Ok(Some(held));
        }
        let found = table::find::<WorkflowVersion>(&*platform.store, tenant, Lookup::Id(&key.1)).await?;
        let Some(kept) = found else { return Ok(None) };
        let version = Arc::new(Version::new(kept.record)?);
        let text_bytes = serde_json::to_vec(&version.record).map_or(usize::MAX, |text| text.len());
        self.held.put(key, version.clone(), text_bytes.saturating_mul(TAKEN_APART));
        Ok(Some(version))
    }

    /// Of a workflow that is gone, or whose secrets were sealed anew.
    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.held.remove_where(|(held, _)| held == tenant);
    }
}
