//! Deliveries: the last attempts at a webhook, what waits in the queue, and an attempt by hand.

use domain::deliveries::{DeliveryAttempt, DeliveryState, Health};
use domain::ids::{EmitId, EmitterId, ListenerId};
use domain::paging::PageInfo;
use domain::trace::TraceContext;
use serde::Serialize;
use serde_json::json;
use store::{EntryId, Head, Lookup, Order};

use super::events::{EventQuery, Window};
use super::webhooks;
use crate::paging::{PageOf, Unreadable};
use crate::posting::{Message, answer_of, append_attempt, posting};
use crate::records::{Delivery, StreamEntry, Webhook, WebhookHealth, Work, names, table};
use crate::{Caller, Error, Platform};

/// Jobs that are looked at for one answer, and at once: a payload may be some hundred kilobytes.
const LOOKED_AT: u32 = 1000;
const AT_ONCE: u32 = 20;
/// Payloads that are read for one answer; a little more, by what is read at once.
const READ_BYTES: usize = 8 << 20;
/// The stream that a test event names.
const TEST: &str = "$test";

#[derive(Debug, Serialize)]
pub struct AttemptView {
    pub id: String,
    pub at_ms: u64,
    #[serde(flatten)]
    pub attempt: DeliveryAttempt,
}

/// A delivery in the queue.
#[derive(Debug, Serialize)]
pub struct PendingView {
    pub listener_id: ListenerId,
    pub emitter_id: EmitterId,
    pub event_name: String,
    /// Of the event.
    pub emit_id: String,
    pub state: DeliveryState,
    /// How many attempts were made.
    pub attempts: u32,
    /// When it is tried next; while it is being tried, when it counts as lost.
    pub next_attempt_ms: u64,
    /// Deliveries of the same emitter to the same listener that wait for this one.
    pub behind: u64,
}

/// How deliveries to a webhook go.
#[derive(Debug, Serialize)]
pub struct HealthView {
    #[serde(flatten)]
    pub health: Health,
    /// Deliveries in the queue.
    pub pending: u64,
    /// There may be more: not the whole queue was looked at.
    pub pending_is_partial: bool,
}

/// What was found in the queue.
struct Waiting {
    deliveries: Vec<(Head, Delivery)>,
    is_partial: bool,
}

/// Deliveries that wait, the next first: those without an attempt, those that are tried again, and those of webhooks
/// that are paused. Of what waits in line the first is shown, with how many are behind it.
pub async fn pending(caller: &Caller, platform: &Platform, listener: Option<&str>) -> Result<Vec<PendingView>, Error> {
    let mut views = Vec::new();
    for (head, delivery) in waiting(caller, platform, listener).await?.deliveries {
        let event_name = delivery.event_name().to_owned();
        views.push(PendingView {
            state: state(caller, platform, &head, &delivery).await?,
            listener_id: delivery.listener,
            emitter_id: delivery.emitter,
            event_name,
            emit_id: delivery.event.metadata.emit_id,
            attempts: head.attempt,
            next_attempt_ms: head.available_ms,
            behind: head.behind,
        });
    }
    Ok(views)
}

pub(super) async fn health(caller: &Caller, platform: &Platform, webhook: &Webhook) -> Result<HealthView, Error> {
    let id = webhook.id.as_str();
    let noted = table::find::<WebhookHealth>(&*platform.store, &caller.tenant, Lookup::Id(id)).await?;
    let Waiting { deliveries, is_partial } = waiting(caller, platform, Some(id)).await?;
    let pending = deliveries.iter().map(|(head, _)| head.behind.saturating_add(1)).sum();
    let health = noted.map(|kept| kept.record.health).unwrap_or_default();
    Ok(HealthView { health, pending, pending_is_partial: is_partial })
}

/// Posts an event that says what it is, signed like any other, now and once: also to a webhook that is paused or switched
/// off. The attempt is listed with the others and changes nothing else.
pub async fn test(caller: &Caller, platform: &Platform, id: &str) -> Result<AttemptView, Error> {
    let webhook = webhooks::find(caller, platform, id).await?;
    let emit_id = EmitId::new(platform.clock.instant_ms(), platform.entropy.bytes()).to_string();
    let body = json!({"test": true, "webhook_id": webhook.id, "message": "A test of this webhook"}).to_string();
    let message = Message {
        emit_id: &emit_id,
        emitter_id: webhook.id.as_str(),
        event_name: TEST,
        body,
        trace: TraceContext::default(),
    };
    let posting = posting(platform, &caller.tenant, &webhook, message)?;
    let begun_ms = platform.clock.now_ms();
    let posted = platform.outbound.post(&caller.tenant, posting).await;
    let ms = platform.clock.now_ms().saturating_sub(begun_ms);
    let is_delivered = posted.as_ref().is_ok_and(|posted| (200..300).contains(&posted.status));
    let attempt = DeliveryAttempt {
        emit_id,
        emitter_id: webhook.id.to_string(),
        event_name: TEST.to_owned(),
        state: if is_delivered { DeliveryState::Delivered } else { DeliveryState::GivenUp },
        ms,
        ..answer_of(&posted)
    };
    let batch = platform.batch(&caller.tenant).then(append_attempt(&webhook.id, &attempt)?);
    let committed = platform.store.commit(batch).await?;
    let id = committed.entries.first().copied().unwrap_or(EntryId::FIRST);
    Ok(AttemptView { id: id.to_string(), at_ms: id.ms(), attempt })
}

/// Walks over the queue of an account, to a bound.
async fn waiting(caller: &Caller, platform: &Platform, listener: Option<&str>) -> Result<Waiting, Error> {
    let (mut deliveries, mut read_bytes) = (Vec::new(), 0);
    for skip in (0..LOOKED_AT).step_by(AT_ONCE as usize) {
        let heads = platform.store.heads(&caller.tenant, skip, AT_ONCE).await?;
        let is_last = heads.len() < AT_ONCE as usize;
        for head in heads {
            read_bytes += head.payload.len();
            if let Work::Deliver(delivery) = Work::decode(&head.payload)?
                && listener.is_none_or(|listener| listener == delivery.listener.as_str())
            {
                deliveries.push((head, delivery));
            }
        }
        if is_last {
            return Ok(Waiting { deliveries, is_partial: false });
        }
        if read_bytes > READ_BYTES {
            break;
        }
    }
    Ok(Waiting { deliveries, is_partial: true })
}

async fn state(caller: &Caller, platform: &Platform, head: &Head, delivery: &Delivery) -> Result<DeliveryState, Error> {
    if let ListenerId::Webhook(id) = &delivery.listener {
        let found = table::find::<Webhook>(&*platform.store, &caller.tenant, Lookup::Id(id.as_str())).await?;
        if found.is_some_and(|kept| kept.record.paused_at_ms.is_some()) {
            return Ok(DeliveryState::Paused);
        }
    }
    Ok(if head.attempt > 0 { DeliveryState::Failing } else { DeliveryState::Pending })
}

/// Newest first.
pub async fn of_webhook(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: &EventQuery,
) -> Result<PageOf<AttemptView>, Error> {
    let webhook = webhooks::find(caller, platform, id).await?;
    let window = Window::new(query)?;
    let (tenant, emitter) = (&caller.tenant, webhook.id.as_str());
    let mut found = platform.store.entries(tenant, emitter, names::DELIVERIES, window.entries).await?;
    found.retain(|entry| window.holds(entry.id));
    found.truncate(window.limit);
    if window.entries.order == Order::OldestFirst {
        found.reverse();
    }
    let cursors: Vec<String> = found.iter().map(|entry| entry.id.to_string()).collect();
    let (mut items, mut unreadable) = (Vec::with_capacity(found.len()), Unreadable::default());
    for entry in found {
        let read = unreadable.pass(&entry.id, DeliveryAttempt::decode(&entry.value).map_err(Error::from))?;
        items.extend(read.map(|attempt| AttemptView { id: entry.id.to_string(), at_ms: entry.id.ms(), attempt }));
    }
    let kept = platform.store.streams(tenant, emitter).await?;
    let total = kept.iter().find(|stream| stream.name == names::DELIVERIES).map_or(0, |stream| stream.count);
    let info = PageInfo::new(usize::try_from(total).unwrap_or(usize::MAX), &cursors);
    Ok(PageOf { info: unreadable.named_in(info), items })
}
