//! Earlier versions of sources: what can be rolled back to.

use domain::ids::{ComponentId, SourceId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Origin, Source, Stored};
use crate::vault::Sealed;

/// The versions of one source that an update or a rollback has replaced. One record, so that it changes in the batch that
/// changes its source, and the collection of unused code reads as many as there are sources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceHistory {
    pub source: SourceId,
    /// Oldest first.
    pub versions: Vec<SourceVersion>,
}

/// A [`super::Revision`] that ran once. What its component declares is read from the component, which stays as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourceVersion {
    pub number: u32,
    pub component_id: ComponentId,
    pub origin: Origin,
    /// The digest of the linked program.
    pub program: String,
    /// What the component called itself: its name and its version.
    pub component_name: String,
    pub component_version: String,
    /// Values without the secret ones, by prop.
    pub props: Map<String, Value>,
    pub secrets: Option<Sealed>,
    pub secret_props: Vec<String>,
    /// Of its files, for the bound.
    pub size_bytes: u64,
    /// When it began to run.
    pub created_at: u64,
}

impl Stored for SourceHistory {
    const KIND: &'static str = "source_history";
    as_json!();

    fn id(&self) -> String {
        self.source.to_string()
    }
}

// === impl SourceHistory ===

impl SourceHistory {
    pub fn new(source: &SourceId) -> Self {
        Self { source: source.clone(), versions: Vec::new() }
    }

    pub fn version(&self, number: u32) -> Option<&SourceVersion> {
        self.versions.iter().find(|version| version.number == number)
    }

    /// Takes out the oldest until the rest is within both bounds. The newest stays whatever its size: one step back is
    /// always possible.
    pub fn trim(&mut self, count_maximum: usize, bytes_maximum: u64) -> Vec<SourceVersion> {
        let mut kept = 0;
        let mut bytes = 0_u64;
        for version in self.versions.iter().rev() {
            bytes = bytes.saturating_add(version.size_bytes);
            if kept > 0 && (kept >= count_maximum || bytes > bytes_maximum) {
                break;
            }
            kept += 1;
        }
        let excess = self.versions.len() - kept;
        self.versions.drain(..excess).collect()
    }
}

// === impl SourceVersion ===

impl SourceVersion {
    /// What a source runs now.
    pub fn of(source: &Source, size_bytes: u64) -> Self {
        let revision = &source.revision;
        Self {
            number: source.version,
            component_id: revision.component_id.clone(),
            origin: revision.origin,
            program: revision.program.clone(),
            component_name: revision.description.name.clone(),
            component_version: revision.description.version.clone(),
            props: revision.props.clone(),
            secrets: revision.secrets.clone(),
            secret_props: revision.secret_props.clone(),
            size_bytes,
            created_at: source.versioned_at(),
        }
    }
}
