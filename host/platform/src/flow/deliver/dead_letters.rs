//! Keeps deliveries that were given up.

use domain::ids::EmitId;
use store::{EntryId, Op, Page, Tenant};

use crate::Error;
use crate::flow::handle::Flow;
use crate::records::{DeadLetter, Delivery, RecordError, table};

// === impl Flow ===

impl Flow {
    /// The operations that keep a delivery as a dead letter; beyond the bound the oldest one is deleted.
    pub(crate) async fn dead_letter(
        &self,
        tenant: &Tenant,
        delivery: &Delivery,
        entry: Option<EntryId>,
        given_up: GivenUp,
    ) -> Result<Vec<Op>, Error> {
        let platform = &self.platform;
        let unwritable = |source| RecordError::Unwritable { kind: "dead_letter", source };
        let letter = DeadLetter {
            id: EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string(),
            emitter: delivery.emitter.to_string(),
            listener: delivery.listener.to_string(),
            event_name: delivery.event_name().to_owned(),
            event_id: entry.map(|id| id.to_string()).unwrap_or_default(),
            attempts: given_up.attempts,
            reason: given_up.reason,
            event: serde_json::to_value(&delivery.event).map_err(unwritable)?,
            created_at: platform.clock.now_seconds(),
        };
        let mut operations = vec![table::put(&letter)?];
        // Nothing precedes position 0, so the page after it holds the oldest.
        let oldest = Page { after: None, before: Some(0), limit: 1 };
        let oldest = table::list::<DeadLetter>(&*platform.store, tenant, oldest).await?;
        if oldest.total >= self.config.dead_letters_kept {
            operations.extend(oldest.items.first().map(|kept| table::delete(&kept.record)));
        }
        Ok(operations)
    }
}

/// Why a delivery was given up.
pub(crate) struct GivenUp {
    pub(crate) attempts: u32,
    pub(crate) reason: String,
}
