//! Deliveries that were given up: listed, and replayable.

use domain::fan_out::Cause;
use domain::ids::{EmitterId, ListenerId};
use domain::paging::PageQuery;
use store::{Enqueue, Lookup, Op};

use crate::paging::{PageOf, page};
use crate::records::{DeadLetter, Delivery, Event, RecordError, Work, table};
use crate::spans::AttemptSpan;
use crate::{Caller, Error, Noun, Platform};

pub async fn list(caller: &Caller, platform: &Platform, query: &PageQuery) -> Result<PageOf<DeadLetter>, Error> {
    page(&caller.tenant, platform, query).await
}

/// Puts the delivery back into the queue, with all its attempts before it. When it succeeds, a webhook that deliveries had
/// switched off is on again; one that was switched off by hand gets the event and stays off.
pub async fn replay(caller: &Caller, platform: &Platform, id: &str) -> Result<(), Error> {
    let found = table::find::<DeadLetter>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let kept = found.ok_or_else(|| Error::not_found(Noun::DeadLetter, id))?;
    let delivery = delivery(
        &kept.record,
        Cause::outside(platform.config.limits.deliveries_per_trigger, platform.outside_context()),
    )?;
    let job = Enqueue {
        lane: Some(delivery.lane()),
        due_ms: platform.clock.now_ms(),
        payload: Work::Deliver(delivery).encode()?,
        entry: kept.record.event_id.parse().ok().map(store::EntryRef::Id),
        held_until_ms: None,
    };
    let batch = platform
        .batch(&caller.tenant)
        .require(table::unchanged(&kept))
        .then(table::delete(&kept.record))
        .then(Op::Enqueue(job));
    platform.commit_work(batch).await
}

fn delivery(letter: &DeadLetter, cause: Cause) -> Result<Delivery, Error> {
    let malformed = |source| RecordError::Malformed { kind: "dead_letter", source };
    let id_error = |error| malformed(serde::de::Error::custom(error));
    let event: Event = serde_json::from_value(letter.event.clone()).map_err(malformed)?;
    let emitter = EmitterId::parse(&letter.emitter).map_err(id_error)?;
    let listener = ListenerId::parse(&letter.listener).map_err(id_error)?;
    Ok(Delivery { emitter, listener, cause, event, is_replay: true, attempt: AttemptSpan::default() })
}
