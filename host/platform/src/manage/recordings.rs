//! Recordings of an account's runs, in one stream that keeps the newest.
//!
//! There is no index. A recording is committed after its run began, so it is found from that time on, mostly with one read.

use std::sync::Arc;

use domain::ids::RunId;
use store::{EntryId, EntryQuery, Op, Order, Tenant};

use crate::invoke::{Content, append_recording, read_recording, recording_context};
use crate::records::{Recording, StreamEntry, names};
use crate::{Error, Platform};

/// A recording may be some hundred kilobytes.
const READ_AT_ONCE: u32 = 20;

type Kept = (EntryId, Recording);

/// One run of a recording.
pub(super) struct RecordedRun {
    pub(super) recording: Arc<Recording>,
    at: usize,
}

pub(super) async fn find(platform: &Platform, tenant: &Tenant, run_id: &str) -> Result<Option<RecordedRun>, Error> {
    let Ok(id) = RunId::parse(run_id) else { return Ok(None) };
    let began = EntryId::new(u64::try_from(id.started_at_ms()).unwrap_or_default(), 0);
    let mut query = EntryQuery { first: Some(began), last: None, order: Order::OldestFirst, limit: READ_AT_ONCE };
    loop {
        let read = read(platform, tenant, query).await?;
        let last = read.last().map(|(id, _)| *id);
        let found = read.into_iter().find_map(|(_, recording)| {
            let at = recording.run_ids.iter().position(|id| id == run_id)?;
            Some(RecordedRun { recording: Arc::new(recording), at })
        });
        if found.is_some() {
            return Ok(found);
        }
        match last {
            Some(last) => query = EntryQuery::after(last, READ_AT_ONCE),
            None => return Ok(None),
        }
    }
}

/// The newest ones of an emitter.
pub(super) async fn of_emitter(
    platform: &Platform,
    tenant: &Tenant,
    emitter: &str,
    count: usize,
) -> Result<Vec<RecordedRun>, Error> {
    let (mut found, mut query) = (Vec::new(), EntryQuery::newest(READ_AT_ONCE));
    while found.len() < count {
        let read = read(platform, tenant, query).await?;
        let oldest = read.last().and_then(|(id, _)| id.predecessor());
        let of_emitter = read.into_iter().map(|(_, one)| one).filter(|one| one.emitter_id == emitter);
        found.extend(of_emitter.flat_map(RecordedRun::newest_first));
        match oldest {
            Some(_) => query.last = oldest,
            None => break,
        }
    }
    found.truncate(count);
    Ok(found)
}

/// Whether a program is needed to replay what is kept.
pub(super) async fn use_program(platform: &Platform, tenant: &Tenant, digest: &str) -> Result<bool, Error> {
    let mut query = EntryQuery::after(EntryId::FIRST, READ_AT_ONCE);
    loop {
        let read = read(platform, tenant, query).await?;
        if read.iter().any(|(_, recording)| recording.program == digest) {
            return Ok(true);
        }
        match read.last() {
            Some((last, _)) => query = EntryQuery::after(*last, READ_AT_ONCE),
            None => return Ok(false),
        }
    }
}

/// Of a source that is deleted.
pub(super) async fn delete_of(platform: &Platform, tenant: &Tenant, emitter: &str) -> Result<(), Error> {
    let mut query = EntryQuery::after(EntryId::FIRST, READ_AT_ONCE);
    loop {
        let read = read(platform, tenant, query).await?;
        let mut batch = platform.batch(tenant);
        let of_emitter = read.iter().filter(|(_, recording)| recording.emitter_id == emitter);
        batch.operations.extend(of_emitter.map(|(id, _)| delete(*id)));
        if !batch.operations.is_empty() {
            platform.store.commit(batch).await?;
        }
        match read.last() {
            Some((last, _)) => query = EntryQuery::after(*last, READ_AT_ONCE),
            None => return Ok(()),
        }
    }
}

/// Puts every recording under the current key; how many were under another. An entry cannot change, so it moves to the
/// end, in its order.
pub(super) async fn rewrap(platform: &Platform, tenant: &Tenant) -> Result<usize, Error> {
    let (mut count, mut query) = (0, EntryQuery::after(EntryId::FIRST, READ_AT_ONCE));
    let newest = read(platform, tenant, EntryQuery::newest(1)).await?.first().map(|(id, _)| *id);
    query.last = newest;
    loop {
        let read = read(platform, tenant, query).await?;
        let Some(last) = read.last().map(|(id, _)| *id) else { return Ok(count) };
        for (id, mut recording) in read {
            let context = recording_context(tenant, recording.sealed_for());
            let Some(sealed) = platform.vault.rewrap_bytes(context, &recording.sealed)? else { continue };
            recording.sealed = sealed;
            let batch = platform.batch(tenant).then(delete(id)).then(append_recording(platform, &recording)?);
            platform.store.commit(batch).await?;
            count += 1;
        }
        query = EntryQuery { last: newest, ..EntryQuery::after(last, READ_AT_ONCE) };
    }
}

async fn read(platform: &Platform, tenant: &Tenant, query: EntryQuery) -> Result<Vec<Kept>, Error> {
    let entries = platform.store.entries(tenant, names::RECORDINGS, names::DEFAULT, query).await?;
    entries.iter().map(|entry| Ok((entry.id, Recording::decode(&entry.value)?))).collect()
}

fn delete(id: EntryId) -> Op {
    let (emitter, stream) = (names::RECORDINGS.to_owned(), names::DEFAULT.to_owned());
    Op::DeleteEntries { emitter, stream, first: Some(id), last: Some(id), max: 1 }
}

// === impl RecordedRun ===

impl RecordedRun {
    fn newest_first(recording: Recording) -> impl Iterator<Item = Self> {
        let recording = Arc::new(recording);
        (0..recording.run_ids.len()).rev().map(move |at| Self { recording: recording.clone(), at })
    }

    pub(super) fn id(&self) -> &str {
        self.recording.run_ids.get(self.at).map_or("", String::as_str)
    }

    pub(super) fn content(&self, platform: &Platform, tenant: &Tenant) -> Result<Content, Error> {
        read_recording(platform, tenant, &self.recording, self.at)
    }
}
