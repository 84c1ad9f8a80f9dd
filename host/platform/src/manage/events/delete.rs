//! Deleting events of a source, all of them or an inclusive range.

use store::{Enqueue, EntryId, EntryQuery, Op, Tenant};

use super::entry_id;
use crate::manage::sources;
use crate::records::{Job, names};
use crate::streams::streams_of;
use crate::{Caller, Error, Platform};

/// Per stream and batch. A stream keeps a hundred events unless the operator raised that, so one batch is usually all.
const DELETED_AT_ONCE: u32 = 1000;

#[derive(Clone, Debug, Default)]
pub struct DeleteEvents {
    /// The oldest to go; from the first one when absent.
    pub start_id: Option<String>,
    /// The newest to go; up to now when absent.
    pub end_id: Option<String>,
    /// Every stream but the log when absent.
    pub event_name: Option<String>,
}

/// Deletes a first part at once, and leaves what is more to a chore.
pub async fn delete(caller: &Caller, platform: &Platform, id: &str, request: &DeleteEvents) -> Result<(), Error> {
    let source = sources::find(caller, platform, id).await?;
    let emitter = source.id.as_str();
    let first = request.start_id.as_deref().map(|text| entry_id("start_id", text)).transpose()?;
    let last = request.end_id.as_deref().map(|text| entry_id("end_id", text)).transpose()?;
    let mut streams = streams_of(&caller.tenant, platform, emitter, request.event_name.as_deref()).await?.names;
    if request.event_name.is_none() {
        streams.push(names::ERRORS.to_owned());
    }
    // "To the newest" means the newest at this moment: what is emitted while the chore works stays.
    let last = match last {
        Some(last) => Some(last),
        None => newest(&caller.tenant, platform, emitter, &streams).await?,
    };
    let Some(last) = last else {
        return Ok(());
    };
    let range = Range { emitter: emitter.to_owned(), streams, first, last: Some(last) };
    let (operations, streams) = (range.operations(), range.streams.clone());
    let mut batch = platform.batch(&caller.tenant);
    batch.operations = operations;
    let removed = platform.store.commit(batch).await?.removed;
    let left: Vec<String> = streams
        .into_iter()
        .zip(removed)
        .filter(|(_, removed)| *removed >= u64::from(DELETED_AT_ONCE))
        .map(|(stream, _)| stream)
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    let rest = Range { streams: left, ..range };
    let job = Enqueue {
        lane: None,
        due_ms: platform.clock.now_ms(),
        payload: rest.to_job().encode()?,
        entry: None,
        held_until_ms: None,
    };
    platform.store.commit(platform.batch(&caller.tenant).then(Op::Enqueue(job))).await?;
    Ok(())
}

/// One more part of a deletion; true when nothing is left.
pub(in crate::manage) async fn delete_step(tenant: &Tenant, platform: &Platform, job: &Job) -> Result<bool, Error> {
    let Job::DeleteEvents { emitter, streams, first, last } = job else {
        return Ok(true);
    };
    let id = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<EntryId>().ok());
    let range = Range { emitter: emitter.clone(), streams: streams.clone(), first: id(first), last: id(last) };
    let mut batch = platform.batch(tenant);
    batch.operations = range.operations();
    let removed = platform.store.commit(batch).await?.removed;
    Ok(removed.iter().all(|removed| *removed < u64::from(DELETED_AT_ONCE)))
}

struct Range {
    emitter: String,
    streams: Vec<String>,
    first: Option<EntryId>,
    last: Option<EntryId>,
}

// === impl Range ===

impl Range {
    fn operations(&self) -> Vec<Op> {
        let delete = |stream: &String| Op::DeleteEntries {
            emitter: self.emitter.clone(),
            stream: stream.clone(),
            first: self.first,
            last: self.last,
            max: DELETED_AT_ONCE,
        };
        self.streams.iter().map(delete).collect()
    }

    fn to_job(&self) -> Job {
        Job::DeleteEvents {
            emitter: self.emitter.clone(),
            streams: self.streams.clone(),
            first: self.first.map(|id| id.to_string()),
            last: self.last.map(|id| id.to_string()),
        }
    }
}

async fn newest(
    tenant: &Tenant,
    platform: &Platform,
    emitter: &str,
    streams: &[String],
) -> Result<Option<EntryId>, Error> {
    let mut newest = None;
    for stream in streams {
        let found = platform.store.entries(tenant, emitter, stream, EntryQuery::newest(1)).await?;
        newest = newest.max(found.first().map(|entry| entry.id));
    }
    Ok(newest)
}
