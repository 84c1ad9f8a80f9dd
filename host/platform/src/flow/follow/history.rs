//! The kept entries from before a follower joined, oldest first.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::retention::RunRetention;
use domain::subscriptions::Stream;
use store::{Entry, EntryId, EntryQuery, Live, LiveEntry, Order, Tenant};

use crate::records::names;
use crate::streams::streams_of;
use crate::{Error, Platform};

/// Read at once, and held: events may be half a megabyte each.
const AT_ONCE: u32 = 10;
const AT_ONCE_BYTES: usize = 256 << 10;

pub(super) struct History {
    /// The newest entry when the follower joined, of any stream: entries up to it are read from the store, later ones are live.
    pub(super) newest: EntryId,
    /// Listed once: a stream that is made later holds nothing from before.
    streams: Option<Vec<String>>,
    page: VecDeque<Arc<LiveEntry>>,
    /// Something that comes before the next page is no longer kept.
    is_skipped: bool,
    /// Until the first page was read: nothing was seen before, and whatever is kept is what is asked for.
    is_from_beginning: bool,
}

pub(super) enum Read {
    Entry(Arc<LiveEntry>),
    /// Something after the last entry, and up to this id, may be missing. What is there follows.
    NotKept {
        before: EntryId,
    },
    /// There is nothing more.
    All,
    /// There is no memory for it.
    Crowded,
}

/// What is read.
#[derive(Clone, Copy)]
pub(super) struct Followed<'a> {
    pub(super) tenant: &'a Tenant,
    pub(super) emitter: &'a str,
    pub(super) stream: Option<&'a Stream>,
    /// Of the emitter: how many runs it keeps.
    pub(super) runs_kept: RunRetention,
}

// === impl History ===

impl History {
    /// After `last`, and until `newest`.
    pub(super) fn between(last: EntryId, newest: EntryId) -> Self {
        let is_from_beginning = last == EntryId::FIRST;
        Self { newest, streams: None, page: VecDeque::new(), is_skipped: false, is_from_beginning }
    }

    /// Whether anything lies between two ids is told with the first page: runs that are too old. Where the one that was seen is
    /// gone as well, it cannot be excluded.
    pub(super) async fn note_skipped(
        &mut self,
        platform: &Platform,
        (tenant, emitter): (&Tenant, &str),
        (seen, before): (EntryId, EntryId),
    ) -> Result<(), Error> {
        if self.is_from_beginning {
            return Ok(());
        }
        let query = EntryQuery { first: Some(seen), last: Some(before), order: Order::OldestFirst, limit: 2 };
        let found = platform.store.entries(tenant, emitter, names::RUNS, query).await?;
        let is_alone = matches!(found.as_slice(), [only] if only.id == seen);
        self.is_skipped = !is_alone;
        Ok(())
    }

    /// The first after `last`.
    pub(super) async fn next(
        &mut self,
        platform: &Platform,
        live: &Live,
        followed: Followed<'_>,
        last: EntryId,
    ) -> Result<Read, Error> {
        if self.page.is_empty() {
            let Some(_turn) = live.turn_to_read().await else { return Ok(Read::Crowded) };
            let found = self.read(platform, followed, last).await?;
            if self.is_skipped || self.may_be_missing(platform, followed, last).await? {
                let first = found.first().and_then(|(_, entry)| entry.id.predecessor());
                (self.page, self.is_skipped) = (adopted(live, found), false);
                return Ok(Read::NotKept { before: first.unwrap_or(self.newest) });
            }
            self.page = adopted(live, found);
            self.is_from_beginning = false;
        }
        Ok(self.page.pop_front().map_or(Read::All, Read::Entry))
    }

    /// Streams drop their oldest entries. One that is full and has nothing from before may have dropped what came after `last`;
    /// it has not when `last` is just before its first one, where it was read up to. Asked after the page was read, so that
    /// what is dropped meanwhile is not missed.
    async fn may_be_missing(&self, platform: &Platform, followed: Followed<'_>, last: EntryId) -> Result<bool, Error> {
        if self.is_from_beginning || last >= self.newest {
            return Ok(false);
        }
        let Followed { tenant, emitter, .. } = followed;
        let oldest = EntryQuery { first: None, last: None, order: Order::OldestFirst, limit: 1 };
        for stream in platform.store.streams(tenant, emitter).await? {
            let is_followed = self.streams.iter().flatten().any(|name| *name == stream.name);
            if !is_followed || stream.count < followed.kept(platform, &stream.name) {
                continue;
            }
            let found = platform.store.entries(tenant, emitter, &stream.name, oldest).await?;
            if found.first().is_some_and(|first| first.id > last && first.id.predecessor() != Some(last)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Of all that is followed, a page.
    async fn read(
        &mut self,
        platform: &Platform,
        Followed { tenant, emitter, stream, .. }: Followed<'_>,
        last: EntryId,
    ) -> Result<Vec<(String, Entry)>, Error> {
        let streams = match (&mut self.streams, stream) {
            (Some(streams), _) => streams,
            (none, Some(stream)) => none.insert(vec![stream.as_str().to_owned()]),
            (none, None) => none.insert(streams_of(tenant, platform, emitter, None).await?.names),
        };
        let query = EntryQuery { last: Some(self.newest), ..EntryQuery::after(last, AT_ONCE) };
        let mut found: Vec<(String, Entry)> = Vec::new();
        for stream in streams {
            let entries = platform.store.entries(tenant, emitter, stream, query).await?;
            found.extend(entries.into_iter().map(|entry| (stream.clone(), entry)));
            found.sort_by_key(|(_, entry)| entry.id);
            cut(&mut found);
        }
        Ok(found)
    }
}

fn adopted(live: &Live, found: Vec<(String, Entry)>) -> VecDeque<Arc<LiveEntry>> {
    found.into_iter().map(|(stream, entry)| live.adopt(entry.id, &stream, entry.value)).collect()
}

// === impl Followed ===

impl Followed<'_> {
    /// How many entries a stream has when it drops the oldest for each new one.
    fn kept(&self, platform: &Platform, stream: &str) -> u64 {
        let limits = &platform.config.limits;
        match stream {
            names::LOGS => limits.logs_kept as u64,
            names::RUNS => self.runs_kept.kept(limits.runs_kept).into(),
            names::WORKFLOW_RUNS => RunRetention::default().kept(limits.runs_kept).into(),
            _ => limits.events_kept as u64,
        }
    }
}

/// What is read at once, and at least one.
fn cut(found: &mut Vec<(String, Entry)>) {
    let mut size_bytes = 0;
    let fits = |(_, entry): &&(String, Entry)| {
        size_bytes += entry.value.len();
        size_bytes <= AT_ONCE_BYTES
    };
    let count = found.iter().take(usize::try_from(AT_ONCE).unwrap_or(usize::MAX)).take_while(fits).count();
    found.truncate(count.max(1));
}
