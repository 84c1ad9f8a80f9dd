//! The stored dedupe state of a source.

use domain::dedupe::DedupeState;
use serde::{Deserialize, Serialize};
use store::{Lookup, Precondition, Tenant};

use crate::records::{Source, Stored, as_json, table};
use crate::{Error, Platform};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Dedupe {
    pub(crate) source: String,
    pub(crate) state: DedupeState,
}

// === impl Dedupe ===

impl Dedupe {
    /// The state now, and the precondition that it is unchanged when the batch is applied.
    pub(super) async fn read(
        platform: &Platform,
        tenant: &Tenant,
        source: &Source,
    ) -> Result<(DedupeState, Option<Precondition>), Error> {
        if source.revision.description.dedupe.is_none() {
            return Ok((DedupeState::Empty, None));
        }
        let id = source.id.to_string();
        let kept = table::find::<Self>(&*platform.store, tenant, Lookup::Id(&id)).await?;
        Ok(match kept {
            Some(kept) => (kept.record.state.clone(), Some(table::unchanged(&kept))),
            None => (DedupeState::Empty, Some(Precondition::RecordAbsent { kind: Self::KIND.to_owned(), id })),
        })
    }
}

impl Stored for Dedupe {
    const KIND: &'static str = "dedupe";
    as_json!();

    fn id(&self) -> String {
        self.source.clone()
    }
}
