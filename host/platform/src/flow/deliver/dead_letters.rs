//! Keeps deliveries that were given up.

use domain::ids::EmitId;
use store::{EntryId, Job, Op, Page, Tenant};

use crate::Error;
use crate::flow::handle::Flow;
use crate::flow::work::Completion;
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

    /// Ends a delivery to a listener that is switched off, by deliveries or by hand. Events that waited by then were accepted for
    /// it, and are kept, as is what is delivered again; what is emitted later was never accepted for it.
    pub(crate) async fn deliver_to_switched_off(
        &self,
        job: &Job,
        delivery: &Delivery,
        listener: SwitchedOff<'_>,
    ) -> Result<Completion, Error> {
        let emitted_at = EmitId::parse(&delivery.event.metadata.emit_id).map_or(0, |id| id.emitted_at_ms() / 1000);
        let has_waited = u64::try_from(emitted_at).unwrap_or_default() <= listener.updated_at;
        if !has_waited && !delivery.is_replay {
            return self.acknowledge(job, Vec::new()).await;
        }
        let reason = listener.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let reason = format!("the {} is switched off{reason}", listener.noun);
        let given_up = GivenUp { attempts: job.attempt, reason };
        let operations = self.dead_letter(&job.tenant, delivery, job.entry, given_up).await?;
        self.acknowledge(job, operations).await
    }
}

/// A listener that takes no deliveries.
pub(crate) struct SwitchedOff<'a> {
    pub(crate) noun: &'static str,
    /// Epoch seconds: not before it was switched off.
    pub(crate) updated_at: u64,
    /// None when it was switched off by hand.
    pub(crate) reason: Option<&'a str>,
}

/// Why a delivery was given up.
pub(crate) struct GivenUp {
    pub(crate) attempts: u32,
    pub(crate) reason: String,
}
