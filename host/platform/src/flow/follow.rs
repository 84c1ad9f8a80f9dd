//! Following a stream as it grows.
//!
//! Nothing is buffered: a follower remembers the last id it gave, and reads on from there. A pulse says that there may
//! be more; one that was missed costs a few seconds, never an event.

use domain::event_id::EventId;
use domain::subscriptions::Stream;
use store::{Appended, Entry, EntryId, EntryQuery, Tenant};
use tokio::sync::broadcast;

use crate::manage::events::{EventSummary, log_event};
use crate::manage::sources;
use crate::records::{Event, names};
use crate::{Caller, Error, Platform};

/// Read at once: events may be half a megabyte each.
const AT_ONCE: u32 = 10;
/// How long without a pulse until it is looked whether there is more all the same.
const LOOK_EVERY_MS: u64 = 5000;

pub struct Follower {
    platform: Platform,
    tenant: Tenant,
    emitter: String,
    stream: String,
    last: EntryId,
    pulse: broadcast::Receiver<Appended>,
}

/// What to follow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Following<'a> {
    /// The default stream when empty; `$errors` and `$logs` as well.
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
        let stream = Stream::parse(following.event_name).map_err(|error| Error::parameter("event_name", error))?;
        // Before the newest is looked up, so that nothing falls between.
        let pulse = platform.store.pulse().events();
        let (tenant, emitter) = (caller.tenant.clone(), source.id.to_string());
        let last = match following.after {
            Some(after) => parse_id(after)?,
            None => {
                let newest = EntryQuery::newest(1);
                let found = platform.store.entries(&tenant, &emitter, stream.as_str(), newest).await?;
                found.first().map_or(EntryId::FIRST, |entry| entry.id)
            }
        };
        let (platform, stream) = (platform.clone(), stream.as_str().to_owned());
        Ok(Self { platform, tenant, emitter, stream, last, pulse })
    }

    /// The next events, at least one, oldest first. May be dropped at any time without losing any.
    pub async fn next(&mut self) -> Result<Vec<EventSummary>, Error> {
        loop {
            let query = EntryQuery::after(self.last, AT_ONCE);
            let found = self.platform.store.entries(&self.tenant, &self.emitter, &self.stream, query).await?;
            if let Some(newest) = found.last() {
                let newest = newest.id;
                let read = found.iter().map(|entry| self.summary(entry)).collect::<Result<_, _>>()?;
                self.last = newest;
                return Ok(read);
            }
            self.wait().await;
        }
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

    fn summary(&self, entry: &Entry) -> Result<EventSummary, Error> {
        let is_log = self.stream == names::LOGS;
        let event = if is_log { log_event(&self.emitter, entry)? } else { Event::decode(&entry.value)? };
        let Event { event, metadata } = event;
        let (id, indexed_at_ms) = (entry.id.to_string(), entry.id.ms());
        Ok(EventSummary { id, indexed_at_ms, event, event_truncated: None, metadata })
    }
}

fn parse_id(text: &str) -> Result<EntryId, Error> {
    let id = EventId::parse(text).map_err(|error| Error::parameter("last_event_id", error))?;
    // An id greater than any the store gives is after everything.
    Ok(id.to_string().parse().unwrap_or(EntryId::new(u64::MAX, u32::MAX)))
}
