//! Delivering a kept event once more: to everything that listens to its stream, or to one listener.
//!
//! The event keeps its id, so that a receiver which remembers ids can tell that it has it already. Nothing is emitted: the
//! streams of the source stay as they are.

use domain::fan_out::{Cause, Split};
use domain::ids::{EmitterId, ListenerId};
use domain::subscriptions::{self as rules, Stream};
use serde::Serialize;
use store::{Enqueue, Entry, EntryId, EntryQuery, EntryRef, Op, Order, Tenant};

use super::{entry_id, event_of};
use crate::manage::{sources, subscriptions};
use crate::records::{Delivery, Event, Work, names};
use crate::spans::AttemptSpan;
use crate::streams::streams_of;
use crate::{Caller, Error, Noun, Platform};

#[derive(Clone, Debug, Default)]
pub struct Redelivery {
    /// The stream that has it; every channel is looked through when absent.
    pub event_name: Option<String>,
    /// Everything that listens to the stream when absent.
    pub listener: Option<ListenerId>,
}

/// What was put into the queue.
#[derive(Debug, Serialize)]
pub struct Redelivered {
    pub event_id: String,
    /// Empty when nothing listens to the stream.
    pub listeners: Vec<ListenerId>,
}

pub async fn redeliver(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    event_id: &str,
    request: Redelivery,
) -> Result<Redelivered, Error> {
    let source = sources::find(caller, platform, id).await?;
    let entry_id = entry_id("event_id", event_id).map_err(|_| Error::not_found(Noun::Event, event_id))?;
    let (stream, event) =
        find(&caller.tenant, platform, source.id.as_str(), (entry_id, request.event_name.as_deref())).await?;
    let emitter = EmitterId::Source(source.id);
    let is_named = request.listener.is_some();
    let listeners = match request.listener {
        Some(listener) => {
            subscriptions::check_listener(caller, platform, &listener).await?;
            vec![listener]
        }
        None => listening(&caller.tenant, platform, &emitter, &stream).await?,
    };
    let limit = platform.config.limits.deliveries_per_trigger;
    let Split { allowed, each } = Cause::outside(limit, platform.outside_context()).split(listeners.len());
    let listeners: Vec<ListenerId> = listeners.into_iter().take(allowed).collect();
    let mut batch = platform.batch(&caller.tenant);
    for listener in &listeners {
        // A webhook that was switched off gets it when it is named, and is then on again if it takes it and was not switched
        // off by hand.
        let is_replay = is_named || !matches!(listener, ListenerId::Webhook(_));
        let delivery = Delivery {
            emitter: emitter.clone(),
            listener: listener.clone(),
            cause: each,
            event: event.clone(),
            is_replay,
            attempt: AttemptSpan::default(),
        };
        batch = batch.then(Op::Enqueue(Enqueue {
            lane: Some(delivery.lane()),
            due_ms: platform.clock.now_ms(),
            payload: Work::Deliver(delivery).encode()?,
            entry: Some(EntryRef::Id(entry_id)),
            held_until_ms: None,
        }));
    }
    if !listeners.is_empty() {
        platform.commit_work(batch).await?;
    }
    Ok(Redelivered { event_id: entry_id.to_string(), listeners })
}

/// The event, and the stream that has it.
async fn find(
    tenant: &Tenant,
    platform: &Platform,
    emitter: &str,
    (id, event_name): (EntryId, Option<&str>),
) -> Result<(String, Event), Error> {
    let streams = streams_of(tenant, platform, emitter, event_name).await?.names;
    // Records of runs are no events: nothing can listen to them.
    for stream in streams.into_iter().filter(|stream| ![names::RUNS, names::WORKFLOW_RUNS].contains(&stream.as_str())) {
        let only = EntryQuery { first: Some(id), last: Some(id), order: Order::NewestFirst, limit: 1 };
        let found: Option<Entry> = platform.store.entries(tenant, emitter, &stream, only).await?.into_iter().next();
        if let Some(entry) = found {
            let event = event_of(&stream, emitter, &entry)?;
            return Ok((stream, event));
        }
    }
    Err(Error::not_found(Noun::Event, id))
}

async fn listening(
    tenant: &Tenant,
    platform: &Platform,
    emitter: &EmitterId,
    stream: &str,
) -> Result<Vec<ListenerId>, Error> {
    let stream = Stream::parse(stream).map_err(|error| Error::parameter("event_name", error))?;
    let subscriptions = platform.listeners().of(&*platform.store, tenant).await?;
    Ok(rules::listeners(subscriptions.iter(), emitter, &stream).into_iter().cloned().collect())
}
