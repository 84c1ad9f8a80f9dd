//! What is kept from before a follower was there, oldest first.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::subscriptions::Stream;
use store::{Entry, EntryId, EntryQuery, Live, LiveEntry, Tenant};

use crate::manage::events::streams_of;
use crate::{Error, Platform};

/// Read at once, and held: events may be half a megabyte each.
const AT_ONCE: u32 = 10;
const AT_ONCE_BYTES: usize = 256 << 10;

pub(super) struct Kept {
    /// The newest entry of before, of any stream: all up to it can be read, and none of them comes later.
    pub(super) newest: EntryId,
    page: VecDeque<Arc<LiveEntry>>,
}

type Place<'a> = (&'a Tenant, &'a str, Option<&'a Stream>);

// === impl Kept ===

impl Kept {
    pub(super) fn until(newest: EntryId) -> Self {
        Self { newest, page: VecDeque::new() }
    }

    /// The first after `last`.
    pub(super) async fn next(
        &mut self,
        platform: &Platform,
        live: &Live,
        place: Place<'_>,
        last: EntryId,
    ) -> Result<Option<Arc<LiveEntry>>, Error> {
        if self.page.is_empty() {
            self.page = self.read(platform, live, place, last).await?;
        }
        Ok(self.page.pop_front())
    }

    /// Of all that is followed. More are never held at once than twice what is read at once.
    async fn read(
        &self,
        platform: &Platform,
        live: &Live,
        (tenant, emitter, stream): Place<'_>,
        last: EntryId,
    ) -> Result<VecDeque<Arc<LiveEntry>>, Error> {
        let streams = match stream {
            Some(stream) => vec![stream.as_str().to_owned()],
            None => streams_of(tenant, platform, emitter, None).await?.names,
        };
        let query = EntryQuery { last: Some(self.newest), ..EntryQuery::after(last, AT_ONCE) };
        let mut found: Vec<(&str, Entry)> = Vec::new();
        for stream in &streams {
            let entries = platform.store.entries(tenant, emitter, stream, query).await?;
            found.extend(entries.into_iter().map(|entry| (stream.as_str(), entry)));
            found.sort_by_key(|(_, entry)| entry.id);
            found.truncate(usize::try_from(AT_ONCE).unwrap_or(usize::MAX));
        }
        let mut size_bytes = 0;
        let fits = |(_, entry): &(&str, Entry)| {
            let is_first = size_bytes == 0;
            size_bytes += entry.value.len();
            is_first || size_bytes <= AT_ONCE_BYTES
        };
        let page = found.into_iter().take_while(fits);
        Ok(page.map(|(stream, entry)| live.adopt(entry.id, stream, entry.value)).collect())
    }
}
