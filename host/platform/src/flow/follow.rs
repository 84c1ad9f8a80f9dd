//! Following a stream, or all channels of a source, as they grow.
//!
//! Nothing is buffered: a follower remembers the last id it gave, and reads on from there. A pulse says that there may
//! be more; one that was missed costs a few seconds, never an event.

use domain::event_id::EventId;
use domain::subscriptions::Stream;
use store::{Appended, EntryId, EntryQuery, Order, Tenant};
use tokio::sync::broadcast;

use crate::manage::events::{EventSummary, streams_of};
use crate::manage::sources;
use crate::{Caller, Error, Platform};

/// Read at once: events may be half a megabyte each.
const AT_ONCE: u32 = 10;
/// How long without a pulse until it is looked whether there is more all the same.
const LOOK_EVERY_MS: u64 = 5000;

pub struct Follower {
    platform: Platform,
    tenant: Tenant,
    emitter: String,
    /// Every channel when absent.
    stream: Option<Stream>,
    last: EntryId,
    pulse: broadcast::Receiver<Appended>,
}

/// What to follow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following<'a> {
    /// Every channel when empty; `$errors` and `$logs` only by name.
    pub event_name: &'a str,
    /// The last event that was seen; from now on when absent.
    pub after: Option<&'a str>,
}

// === impl Follower ===

impl Follower {
    pub async fn of_source(
        caller: &Caller,
        platform: &Platform,
        id: &str,
        following: Following<'_>,
    ) -> Result<Self, Error> {
        let source = sources::find(caller, platform, id).await?;
        let named = Some(following.event_name).filter(|name| !name.is_empty());
        let stream = named.map(Stream::parse).transpose().map_err(|error| Error::parameter("event_name", error))?;
        // Before the newest is looked up, so that nothing falls between.
        let pulse = platform.store.pulse().events();
        let (tenant, emitter) = (caller.tenant.clone(), source.id.to_string());
        let mut follower = Self { platform: platform.clone(), tenant, emitter, stream, last: EntryId::FIRST, pulse };
        follower.last = match following.after {
            Some(after) => parse_id(after)?,
            None => {
                let found = follower.read(EntryQuery::newest(1)).await?;
                found.first().map_or(EntryId::FIRST, |(newest, _)| *newest)
            }
        };
        Ok(follower)
    }

    /// The next events, at least one, oldest first. May be dropped at any time without losing any.
    pub async fn next(&mut self) -> Result<Vec<EventSummary>, Error> {
        loop {
            let query = EntryQuery::after(self.last, AT_ONCE);
            let mut found = self.read(query).await?;
            if let (Some((newest, _)), None) = (found.last(), &self.stream) {
                // One channel may have got an older event after it was read, or have been made. Up to the newest that was
                // seen, all are there by now: ids are given in the order of commits.
                found = self.read(EntryQuery { last: Some(*newest), ..query }).await?;
            }
            if let Some((newest, _)) = found.last() {
                self.last = *newest;
                return Ok(found.into_iter().map(|(_, event)| event).collect());
            }
            self.wait().await;
        }
    }

    /// Of all that is followed, in the query's order and as many as it wants. More are never held at once than twice.
    async fn read(&self, query: EntryQuery) -> Result<Vec<(EntryId, EventSummary)>, Error> {
        let (store, tenant, emitter) = (&self.platform.store, &self.tenant, self.emitter.as_str());
        let streams = match &self.stream {
            Some(stream) => vec![stream.as_str().to_owned()],
            None => streams_of(tenant, &self.platform, emitter, None).await?.names,
        };
        let mut found = Vec::new();
        for stream in &streams {
            for entry in store.entries(tenant, emitter, stream, query).await? {
                found.push((entry.id, EventSummary::of_entry(stream, emitter, &entry, true)?));
            }
            match query.order {
                Order::OldestFirst => found.sort_by_key(|(id, _)| *id),
                Order::NewestFirst => found.sort_by_key(|(id, _)| std::cmp::Reverse(*id)),
            }
            found.truncate(usize::try_from(query.limit).unwrap_or(usize::MAX));
        }
        Ok(found)
    }

    /// Until there may be more.
    async fn wait(&mut self) {
        let look_ms = self.platform.clock.now_ms().saturating_add(LOOK_EVERY_MS);
        loop {
            // Both are cancel-safe: a pulse that was missed is made up for by looking.
            tokio::select! {
                pulse = self.pulse.recv() => match pulse {
                    Ok(appended) if appended.tenant != self.tenant || appended.emitter != self.emitter => {}
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                    // The store is closed; the next read says so.
                    Err(broadcast::error::RecvError::Closed) => return self.platform.clock.sleep_until(look_ms).await,
                },
                () = self.platform.clock.sleep_until(look_ms) => return,
            }
        }
    }
}

fn parse_id(text: &str) -> Result<EntryId, Error> {
    let id = EventId::parse(text).map_err(|error| Error::parameter("last_event_id", error))?;
    // An id greater than any the store gives is after everything.
    Ok(id.to_string().parse().unwrap_or(EntryId::new(u64::MAX, u32::MAX)))
}
