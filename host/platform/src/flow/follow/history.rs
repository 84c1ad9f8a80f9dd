//! The kept entries from before a follower joined, oldest first.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::subscriptions::Stream;
use store::{Entry, EntryId, EntryQuery, Live, LiveEntry, Tenant};

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
}

pub(super) enum Read {
    Entry(Arc<LiveEntry>),
    /// There is nothing more.
    All,
    /// There is no memory for it.
    Crowded,
}

type StreamRef<'a> = (&'a Tenant, &'a str, Option<&'a Stream>);

// === impl History ===

impl History {
    pub(super) fn until(newest: EntryId) -> Self {
        Self { newest, streams: None, page: VecDeque::new() }
    }

    /// The first after `last`.
    pub(super) async fn next(
        &mut self,
        platform: &Platform,
        live: &Live,
        followed: StreamRef<'_>,
        last: EntryId,
    ) -> Result<Read, Error> {
        if self.page.is_empty() {
            let Some(_turn) = live.turn_to_read().await else { return Ok(Read::Crowded) };
            let found = self.read(platform, followed, last).await?;
            self.page = found.into_iter().map(|(stream, entry)| live.adopt(entry.id, &stream, entry.value)).collect();
        }
        Ok(self.page.pop_front().map_or(Read::All, Read::Entry))
    }

    /// Of all that is followed, a page.
    async fn read(
        &mut self,
        platform: &Platform,
        (tenant, emitter, stream): StreamRef<'_>,
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
