//! Records of runs: of one source, of everything, and one by its id.
//!
//! They lie in the stream `$runs` of what ran. An id names its emitter, so one is found without an index; lists read what
//! is kept, which is bounded for each emitter.

use domain::ids::RunId;
use domain::paging::Limit;
use domain::runs::State;
use domain::trace::TraceId;
use serde::Serialize;
use serde_json::Value;
use store::{Entry, EntryQuery, Page, Tenant};

use super::newest::Newest;
use super::{replays, sources};
use crate::paging::{PageOf, Unreadable};
use crate::records::{Component, RunRecord, Source, Stored, StreamEntry, Workflow, decode, names};
use crate::{Caller, Error, Noun, Platform};

/// Emitters of one kind whose runs are listed together, the newest ones. Beyond them runs are listed by source.
const EMITTERS_MERGED: u32 = 500;
/// Entries read from the store at once.
const READ_AT_ONCE: u32 = 100;

/// Which runs; newest first.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    pub limit: Limit,
    /// Runs that began before this one.
    pub after: Option<RunId>,
    /// Runs that began after this one.
    pub before: Option<RunId>,
    pub state: Option<State>,
    pub trace_id: Option<TraceId>,
    /// Runs that began in this time, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    pub until_ms: Option<u64>,
}

/// A run as the API shows it.
#[derive(Clone, Debug, Serialize)]
pub struct RunView {
    #[serde(flatten)]
    pub record: RunRecord,
    pub committed_at_ms: u64,
    /// The event it was given, when it was recorded and one run is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

pub async fn of_source(
    caller: &Caller,
    platform: &Platform,
    id: &str,
    query: &RunQuery,
) -> Result<PageOf<RunView>, Error> {
    let source = sources::find(caller, platform, id).await?;
    let mut found = Newest::new(query.limit, query.after.clone(), query.before.clone());
    let id = source.id.to_string();
    let oldest_ms = replays::settings(platform, Some(source)).oldest_ms;
    read(platform, &caller.tenant, (&id, oldest_ms), query, &mut found, |_, _| false).await?;
    Ok(found.into_page())
}

/// Of sources, workflows, and components that were run by hand. Not all are read, so their total is what was.
pub async fn of_all(caller: &Caller, platform: &Platform, query: &RunQuery) -> Result<PageOf<RunView>, Error> {
    let mut found = Newest::new(query.limit, query.after.clone(), query.before.clone());
    for kind in [Source::KIND, Workflow::KIND, Component::KIND] {
        let listed = platform.store.records(&caller.tenant, kind, Page::newest(EMITTERS_MERGED)).await?;
        for record in listed.items {
            let source = match kind {
                Source::KIND => {
                    let read = decode::<Source>(&record.value).map_err(Error::from);
                    let Some(source) = found.unreadable.pass(&record.id, read)? else { continue };
                    Some(source)
                }
                _ => None,
            };
            let oldest_ms = replays::settings(platform, source).oldest_ms;
            let is_enough = |found: &Newest<RunView>, ended_ms| !found.has_room_before(ended_ms);
            read(platform, &caller.tenant, (&record.id, oldest_ms), query, &mut found, is_enough).await?;
        }
    }
    Ok(found.into_page())
}

/// With its input, when it was recorded.
pub async fn show(caller: &Caller, platform: &Platform, id: &str) -> Result<RunView, Error> {
    let mut view = find(caller, platform, id).await?;
    let redaction = replays::settings_of(caller, platform, &view.record.emitter_id).await?.redaction;
    if let Some((input, hidden)) = replays::input(caller, platform, id, &redaction).await? {
        view.input = Some(input);
        // Paths may have been named since the run.
        view.record.mask(&hidden);
    }
    Ok(view)
}

pub async fn find(caller: &Caller, platform: &Platform, id: &str) -> Result<RunView, Error> {
    let unknown = || Error::not_found(Noun::Run, id);
    let run_id = RunId::parse(id).map_err(|_| unknown())?;
    let emitter = run_id.emitter().ok_or_else(unknown)?;
    let oldest_ms = replays::settings_of(caller, platform, &emitter).await?.oldest_ms.unwrap_or_default();
    let mut last = None;
    loop {
        let query = EntryQuery { last, ..EntryQuery::newest(READ_AT_ONCE) };
        let entries = platform.store.entries(&caller.tenant, &emitter, names::RUNS, query).await?;
        for entry in &entries {
            let Some(view) = Unreadable::default().pass(&entry.id, view(entry))? else { continue };
            if view.record.id == run_id && view.committed_at_ms >= oldest_ms {
                return Ok(view);
            }
        }
        let oldest = entries.last().and_then(|entry| entry.id.predecessor());
        match oldest.filter(|_| entries.len() == READ_AT_ONCE as usize) {
            Some(oldest) => last = Some(oldest),
            None => return Err(unknown()),
        }
    }
}

/// What an emitter has for the page, until that is enough with what was committed at a time, and before.
async fn read(
    platform: &Platform,
    tenant: &Tenant,
    (emitter, oldest_ms): (&str, Option<u64>),
    query: &RunQuery,
    found: &mut Newest<RunView>,
    is_enough: impl Fn(&Newest<RunView>, u64) -> bool,
) -> Result<(), Error> {
    let mut last = None;
    loop {
        let entries = EntryQuery { last, ..EntryQuery::newest(READ_AT_ONCE) };
        let entries = platform.store.entries(tenant, emitter, names::RUNS, entries).await?;
        for entry in &entries {
            let Some(view) = found.unreadable.pass(&entry.id, view(entry))? else { continue };
            if is_enough(found, view.committed_at_ms) || view.committed_at_ms < oldest_ms.unwrap_or_default() {
                return Ok(());
            }
            if query.wants(&view.record) {
                found.add(view.record.id.clone(), view);
            }
        }
        let oldest = entries.last().and_then(|entry| entry.id.predecessor());
        match oldest.filter(|_| entries.len() == READ_AT_ONCE as usize) {
            Some(oldest) => last = Some(oldest),
            None => return Ok(()),
        }
    }
}

fn view(entry: &Entry) -> Result<RunView, Error> {
    Ok(RunView { record: RunRecord::decode(&entry.value)?, committed_at_ms: entry.id.ms(), input: None })
}

// === impl RunQuery ===

impl RunQuery {
    fn wants(&self, record: &RunRecord) -> bool {
        self.state.is_none_or(|state| record.state == state)
            && self.trace_id.is_none_or(|trace_id| record.trace_id == trace_id)
            && self.since_ms.is_none_or(|since_ms| record.started_at_ms >= since_ms)
            && self.until_ms.is_none_or(|until_ms| record.started_at_ms < until_ms)
    }
}
