//! Deliveries that were given up: listed, and replayable.

use domain::fan_out::Cause;
use domain::ids::{EmitId, EmitterId, ListenerId};
use domain::paging::PageQuery;
use store::{Enqueue, EntryId, Lookup, Op, Page, Tenant};

use super::handle::Flow;
use super::job::{Delivery, Work};
use crate::manage::paging::{PageOf, page};
use crate::records::{DeadLetter, Event, RecordError, shelf};
use crate::{Caller, Error, Noun, Platform};

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<DeadLetter>, Error> {
    page(&caller.tenant, platform, query).await
}

/// Puts the delivery back into the queue, with all its attempts before it. When it succeeds, a webhook that was switched
/// off is on again.
pub async fn replay(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let found = shelf::find::<DeadLetter>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let kept = found.ok_or_else(|| Error::not_found(Noun::DeadLetter, id))?;
    let delivery = delivery(&kept.record, Cause::outside(platform.config.limits.deliveries_per_trigger))?;
    let job = Enqueue {
        lane: Some(delivery.lane()),
        due_ms: platform.clock.now_ms(),
        payload: Work::Deliver(delivery).encode()?,
        entry: kept.record.event_id.parse().ok().map(store::EntryRef::Id),
        held_until_ms: None,
    };
    let batch = platform
        .batch(&caller.tenant)
        .require(shelf::unchanged(&kept))
        .then(shelf::delete(&kept.record))
        .then(Op::Enqueue(job));
    platform.store.commit(batch).await?;
    Ok(())
}

fn delivery(letter: &DeadLetter, cause: Cause) -> Result<Delivery, Error> {
    let malformed = |source| RecordError::Malformed { kind: "dead_letter", source };
    let id_error = |error| malformed(serde::de::Error::custom(error));
    let event: Event = serde_json::from_value(letter.event.clone()).map_err(malformed)?;
    let emitter = EmitterId::parse(&letter.emitter).map_err(id_error)?;
    let listener = ListenerId::parse(&letter.listener).map_err(id_error)?;
    Ok(Delivery { emitter, listener, cause, event, is_replay: true })
}

// === impl Flow ===

impl Flow {
    /// The operations that keep a delivery among the dead letters; the oldest one makes room.
    pub(super) async fn bury(
        &self,
        tenant: &Tenant,
        delivery: &Delivery,
        entry: Option<EntryId>,
        epitaph: Epitaph,
    ) -> Result<Vec<Op>, Error> {
        let platform = &self.platform;
        let unwritable = |source| RecordError::Unwritable { kind: "dead_letter", source };
        let letter = DeadLetter {
            id: EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string(),
            emitter: delivery.emitter.to_string(),
            listener: delivery.listener.to_string(),
            event_name: delivery.event_name().to_owned(),
            event_id: entry.map(|id| id.to_string()).unwrap_or_default(),
            attempts: epitaph.attempts,
            reason: epitaph.reason,
            event: serde_json::to_value(&delivery.event).map_err(unwritable)?,
            created_at: platform.clock.now_seconds(),
        };
        let mut operations = vec![shelf::put(&letter)?];
        // Before the first place in the list lies nothing, so the page next to it holds the oldest.
        let oldest = Page { after: None, before: Some(0), limit: 1 };
        let oldest = shelf::list::<DeadLetter>(&*platform.store, tenant, oldest).await?;
        if oldest.total >= self.config.dead_letters_kept {
            operations.extend(oldest.items.first().map(|kept| shelf::delete(&kept.record)));
        }
        Ok(operations)
    }
}

/// Why a delivery was given up.
pub(super) struct Epitaph {
    pub(super) attempts: u32,
    pub(super) reason: String,
}
