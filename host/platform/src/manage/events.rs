//! Events of sources and workflows: the last ones of each stream, their deletion, and delivering one once more.

use std::str::FromStr;

use domain::event_id::{EventId, EventIdError};
use domain::paging::{Limit, PageInfo};
use domain::truncate::truncate;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Entry, EntryId, EntryQuery, LiveEntry, Order, StreamInfo, Tenant};

use super::{replays, sources};
use crate::paging::PageOf;
use crate::records::{Event, LogEntry, Metadata, RunRecord, StreamEntry, names};
use crate::streams::streams_of;
use crate::{Caller, Error, Platform};

mod delete;
mod gather;
mod redeliver;

pub(super) use delete::delete_step;
pub use delete::{DeleteEvents, delete};
pub use redeliver::{Redelivered, Redelivery, redeliver};

/// Spec, Limits: "last 100 at most".
const SUMMARIES_MAXIMUM: usize = 100;
/// Channels that are listed; one that invents more is found by its name.
const CHANNELS_LISTED: usize = 1000;

/// A stream of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StreamView {
    /// `default`, a channel, `$errors` or `$logs`.
    pub name: String,
    /// Those that are kept.
    pub events: u64,
}

/// Which events to read.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    pub limit: Limit,
    /// Event ids: events older than this one, or newer.
    pub after: Option<String>,
    pub before: Option<String>,
    /// All channels when absent; `$errors` and `$logs` only by name.
    pub event_name: Option<String>,
    /// `expand=event`
    pub is_expanded: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct EventSummary {
    pub id: String,
    pub indexed_at_ms: u64,
    pub event: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_truncated: Option<bool>,
    pub metadata: Metadata,
}

pub async fn of_source(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: &EventQuery,
) -> Result<PageOf<EventSummary>, Error> {
    let source = sources::find(caller, platform, id).await?;
    let emitter = source.id.to_string();
    // Records of runs lie in a stream as events do, and are kept for as long as runs are.
    let oldest_ms = match query.event_name.as_deref() {
        Some(names::RUNS) => replays::settings(platform, Some(source)).oldest_ms,
        _ => None,
    };
    summaries_since(&caller.tenant, platform, &emitter, query, oldest_ms).await
}

/// The default stream, the channels that were ever written by name, and the platform's two.
pub async fn streams(caller: &Caller, platform: &Platform, id: &str) -> Result<Vec<StreamView>, Error> {
    let source = sources::find(caller, platform, id).await?;
    let written = platform.store.streams(&caller.tenant, source.id.as_str()).await?;
    let of_every_source = [names::DEFAULT, names::ERRORS, names::LOGS].map(|name| {
        let count = written.iter().find(|stream| stream.name == name).map_or(0, |stream| stream.count);
        StreamView { name: name.to_owned(), events: count }
    });
    let [default, errors, logs] = of_every_source.clone();
    let is_channel = |stream: &StreamInfo| {
        ![names::RUNS, names::WORKFLOW_RUNS].contains(&stream.name.as_str())
            && of_every_source.iter().all(|known| known.name != stream.name)
    };
    let channels = written.into_iter().filter(is_channel);
    let channels = channels.map(|StreamInfo { name, count }| StreamView { name, events: count });
    Ok([default].into_iter().chain(channels.take(CHANNELS_LISTED)).chain([errors, logs]).collect())
}

/// The events of any emitter that is known to be the tenant's.
pub(super) async fn summaries(
    tenant: &Tenant,
    platform: &Platform,
    emitter: &str,
    query: &EventQuery,
) -> Result<PageOf<EventSummary>, Error> {
    summaries_since(tenant, platform, emitter, query, None).await
}

async fn summaries_since(
    tenant: &Tenant,
    platform: &Platform,
    emitter: &str,
    query: &EventQuery,
    oldest_ms: Option<u64>,
) -> Result<PageOf<EventSummary>, Error> {
    let mut window = Window::new(query)?;
    let oldest = oldest_ms.map(|oldest_ms| EntryId::new(oldest_ms, 0));
    window.entries.first = window.entries.first.max(oldest);
    let streams = streams_of(tenant, platform, emitter, query.event_name.as_deref()).await?;
    let mut page = gather::Page::new(tenant, platform, emitter, window, query.is_expanded);
    for stream in &streams.names {
        page.read(stream).await?;
    }
    let (items, ids, unreadable) = page.finish()?;
    Ok(PageOf { info: unreadable.named_in(PageInfo::new(streams.total, &ids)), items })
}

/// The part of a stream between two cursors. Both exclude the event they name.
pub(super) struct Window {
    pub(super) entries: EntryQuery,
    after: Option<EntryId>,
    pub(super) limit: usize,
}

// === impl Window ===

impl Window {
    pub(super) fn new(query: &EventQuery) -> Result<Self, Error> {
        let after = query.after.as_deref().map(|text| entry_id("after", text)).transpose()?;
        let before = query.before.as_deref().map(|text| entry_id("before", text)).transpose()?;
        let limit = query.limit.get().min(SUMMARIES_MAXIMUM);
        // `before` alone takes the events nearest to it, so that walking back shows the pages that walking forth showed.
        let order = if before.is_some() && after.is_none() { Order::OldestFirst } else { Order::NewestFirst };
        let one_more = u32::try_from(limit + 1).unwrap_or(store::MAX_PAGE);
        let first = before.map(EntryId::successor);
        Ok(Self { entries: EntryQuery { first, last: after, order, limit: one_more }, after, limit })
    }

    pub(super) fn holds(&self, id: EntryId) -> bool {
        self.after.is_none_or(|after| id < after)
    }
}

// === impl EventSummary ===

impl EventSummary {
    /// With the event as it was emitted, however large.
    pub(super) fn whole(id: EntryId, Event { event, metadata }: Event) -> Self {
        Self { id: id.to_string(), indexed_at_ms: id.ms(), event: event.to_value(), event_truncated: None, metadata }
    }

    /// One that is followed, whole.
    pub fn of_live(emitter: &str, entry: &LiveEntry) -> Result<Self, Error> {
        let (id, value) = (entry.id, entry.value.clone());
        Self::of_entry(&entry.stream, emitter, &Entry { id, value }, true)
    }

    pub(crate) fn of_entry(stream: &str, emitter: &str, entry: &Entry, is_expanded: bool) -> Result<Self, Error> {
        let mut summary = Self::whole(entry.id, event_of(stream, emitter, entry)?);
        if !is_expanded {
            let truncated = truncate(&summary.event);
            summary.event_truncated = truncated.is_truncated.then_some(true);
            summary.event = truncated.event;
        }
        Ok(summary)
    }
}

/// An entry of any stream as an event.
fn event_of(stream: &str, emitter: &str, entry: &Entry) -> Result<Event, Error> {
    match stream {
        names::LOGS => log_event(emitter, entry),
        names::RUNS => run_event(entry),
        _ => Ok(Event::decode(&entry.value)?),
    }
}

/// A line of the log in the shape of an event: `$logs` is a stream like the others.
fn log_event(emitter: &str, entry: &Entry) -> Result<Event, Error> {
    let line = LogEntry::decode(&entry.value)?;
    let metadata = Metadata {
        emit_id: line.run_id.clone(),
        name: names::LOGS.to_owned(),
        emitter_id: emitter.to_owned(),
        id: None,
        summary: None,
        ts: None,
        run_id: Some(line.run_id.clone()),
    };
    Ok(Event { event: json!(line).into(), metadata })
}

/// The same for a record of a run.
fn run_event(entry: &Entry) -> Result<Event, Error> {
    let record = RunRecord::decode(&entry.value)?;
    let metadata = Metadata {
        emit_id: record.id.to_string(),
        name: names::RUNS.to_owned(),
        emitter_id: record.emitter_id.clone(),
        id: None,
        summary: None,
        ts: None,
        run_id: Some(record.id.to_string()),
    };
    Ok(Event { event: json!(record).into(), metadata })
}

pub(super) fn entry_id(name: &'static str, text: &str) -> Result<EntryId, Error> {
    // The domain's parser knows the one spelling of an id, the store's its range.
    let parsed = EventId::parse(text).and_then(|id| {
        EntryId::from_str(&id.to_string()).map_err(|_| EventIdError { given: text.chars().take(64).collect() })
    });
    parsed.map_err(|error| Error::parameter(name, error))
}
