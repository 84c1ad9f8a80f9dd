//! Finds the listeners of a run's events by the tenant's subscriptions, and makes the jobs that deliver them.
//!
//! Subscriptions are only ever added and removed, and places in a list are never reused: the place of the newest one
//! and their number tell whether what is held is still everything. So a run costs one small read, and a subscription
//! made on another host counts from its next event on.

use std::sync::Arc;

use domain::fan_out::{Cause, Split};
use domain::ids::EmitterId;
use domain::subscriptions::{self as rules, Stream};
use metrics::{CacheUse, Family, of_caches};
use store::{Batch, Enqueue, EntryRef, Op, Page, Precondition, Sharing, Store, Tenant};

use crate::Error;
use crate::held::Held;
use crate::records::{Delivery, Event, RecordError, Stored, Subscription, Work, table};
use crate::spans::AttemptSpan;

/// Subscriptions that are held, of all tenants; an account with as many as it may have is among them.
const HELD_BYTES: usize = 32 << 20;
/// What one takes: four short texts.
const SUBSCRIPTION_BYTES: usize = 256;

pub(crate) struct Listeners {
    held: Held<Tenant, CachedSubscriptions>,
    uses: CacheUse,
}

pub(crate) type Subscriptions = Arc<Vec<rules::Subscription>>;

/// One event that was appended in the batch that delivers it.
pub(crate) struct Outgoing<'a> {
    /// Its place among the batch's appends.
    pub(crate) index: usize,
    pub(crate) stream: &'a str,
    pub(crate) event: &'a Event,
    /// When subscribers are to get it, if not at once.
    pub(crate) delivery_ms: Option<u64>,
}

/// What all events of a run have in common.
pub(crate) struct Sender<'a> {
    pub(crate) emitter: &'a EmitterId,
    pub(crate) now_ms: u64,
    pub(crate) cause: Cause,
}

/// The jobs that bring events to their listeners.
pub(crate) struct Deliveries {
    pub(crate) operations: Vec<Op>,
    /// Why some are missing.
    pub(crate) dropped: Option<String>,
}

/// Whether the queue has room for the deliveries of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// The commit tells.
    Assumed,
    /// It had none.
    Missing,
}

#[derive(Clone)]
struct CachedSubscriptions {
    stamp: Stamp,
    subscriptions: Subscriptions,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    newest: Option<u64>,
    total: u64,
}

/// The jobs that bring each event to its listeners, each listener once, as far as the trigger's budget goes.
pub(crate) fn deliveries<'a>(
    subscriptions: &[rules::Subscription],
    sender: &Sender<'_>,
    room: Room,
    outgoing: impl Iterator<Item = Outgoing<'a>>,
) -> Result<Deliveries, RecordError> {
    let outgoing: Vec<Outgoing<'_>> = outgoing.collect();
    let mut wanted = Vec::new();
    for one in &outgoing {
        if let Ok(stream) = Stream::parse(one.stream) {
            let listeners = rules::listeners(subscriptions, sender.emitter, &stream).into_iter();
            wanted.extend(listeners.map(|listener| (one, listener)));
        }
    }
    let Split { allowed, each } = match room {
        Room::Assumed => sender.cause.split(wanted.len()),
        Room::Missing => Split { allowed: 0, each: sender.cause },
    };
    let dropped = (allowed < wanted.len()).then(|| missing_deliveries(wanted.len() - allowed, room));
    let mut operations = Vec::with_capacity(allowed);
    for (outgoing, listener) in wanted.into_iter().take(allowed) {
        let due_ms = outgoing.delivery_ms.filter(|due_ms| *due_ms > sender.now_ms);
        let delivery = Delivery {
            emitter: sender.emitter.clone(),
            listener: listener.clone(),
            cause: each,
            event: outgoing.event.clone(),
            is_replay: false,
            attempt: AttemptSpan::default(),
        };
        // A delivery for later must not hold up those that are for now.
        let lane = due_ms.is_none().then(|| delivery.lane());
        operations.push(Op::Enqueue(Enqueue {
            lane,
            due_ms: due_ms.unwrap_or(sender.now_ms),
            payload: Work::Deliver(delivery).encode()?,
            entry: Some(EntryRef::InBatch(outgoing.index)),
            held_until_ms: None,
        }));
    }
    Ok(Deliveries { operations, dropped })
}

/// Why deliveries are missing.
pub(crate) fn missing_deliveries(missing: usize, room: Room) -> String {
    let reason = match room {
        Room::Assumed => {
            "the trigger that all this goes back to has caused as many as one may; do sources run each other in a loop?"
        }
        Room::Missing => {
            "the account has as many in the queue as it may (queued_jobs, queued_bytes); are its listeners too slow?"
        }
    };
    format!("{missing} deliveries were dropped: {reason}")
}

// === impl Stamp ===

impl Stamp {
    async fn read(store: &dyn Store, tenant: &Tenant) -> Result<Self, Error> {
        let newest = store.records(tenant, Subscription::KIND, Page::newest(1)).await?;
        Ok(Self { newest: newest.items.first().map(|record| record.position), total: newest.total })
    }
}

// === impl Listeners ===

impl Default for Listeners {
    fn default() -> Self {
        Self { held: Held::new(HELD_BYTES), uses: CacheUse::default() }
    }
}

impl Listeners {
    /// For a batch that goes on from what is known, without a read: it requires that nothing has changed since. Where one process
    /// has the store, a read costs less than that.
    pub(crate) async fn required(&self, store: &dyn Store, batch: &mut Batch) -> Result<Subscriptions, Error> {
        if store.sharing() == Sharing::Alone {
            return self.of(store, &batch.tenant).await;
        }
        let held = self.held.get(&batch.tenant).map(|held| (held.stamp, held.subscriptions));
        self.uses.note(held.is_some());
        let (stamp, subscriptions) = match held {
            Some(held) => held,
            None => self.read(store, &batch.tenant).await?,
        };
        let Stamp { newest, total } = stamp;
        batch.preconditions.push(Precondition::ListIs { kind: Subscription::KIND.to_owned(), newest, total });
        Ok(subscriptions)
    }

    /// A batch was refused that required what is known.
    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.held.remove(tenant);
    }

    pub(crate) async fn of(&self, store: &dyn Store, tenant: &Tenant) -> Result<Subscriptions, Error> {
        let stamp = Stamp::read(store, tenant).await?;
        if stamp.total == 0 {
            return Ok(Subscriptions::default());
        }
        if let Some(held) = self.held.get(tenant).filter(|held| held.stamp == stamp) {
            self.uses.hit();
            return Ok(held.subscriptions);
        }
        self.uses.missed();
        self.read_all(store, tenant, stamp).await
    }

    async fn read(&self, store: &dyn Store, tenant: &Tenant) -> Result<(Stamp, Subscriptions), Error> {
        let stamp = Stamp::read(store, tenant).await?;
        Ok((stamp, self.read_all(store, tenant, stamp).await?))
    }

    /// What changes between the two reads changes the stamp as well: the next run reads again.
    async fn read_all(&self, store: &dyn Store, tenant: &Tenant, stamp: Stamp) -> Result<Subscriptions, Error> {
        let subscriptions = match stamp.total {
            0 => Subscriptions::default(),
            _ => {
                let listed = table::list_all::<Subscription>(store, tenant).await?;
                Arc::new(listed.into_iter().map(|kept| kept.record.0).collect::<Vec<_>>())
            }
        };
        let bytes = subscriptions.len().saturating_mul(SUBSCRIPTION_BYTES);
        let cached = CachedSubscriptions { stamp, subscriptions: subscriptions.clone() };
        self.held.put(tenant.clone(), cached, bytes);
        Ok(subscriptions)
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        of_caches("subscriptions", &self.uses, self.held.size())
    }
}
