//! A page of events out of many streams, without holding more at once than the page may have.
//!
//! Events may be some megabytes each and a source may have a hundred channels, so neither whole streams nor whole pages
//! are read blindly: a few entries at a time, and what cannot be part of the page any more is dropped at once.

use bytes::Bytes;
use store::{Entry, EntryId, EntryQuery, Order, Tenant};

use super::{EventSummary, Window};
use crate::paging::Unreadable;
use crate::{Error, Platform};

/// Entries read from the store at once.
const READ_AT_ONCE: u32 = 16;
/// What one page holds of events as they were emitted; it ends early, and its cursor goes on.
const PAGE_BYTES: usize = 16 << 20;

pub(super) struct Page<'a> {
    tenant: &'a Tenant,
    platform: &'a Platform,
    emitter: &'a str,
    window: Window,
    is_expanded: bool,
    /// In the order of the window.
    found: Vec<Found<'a>>,
}

struct Found<'a> {
    id: EntryId,
    stream: &'a str,
    event: Event,
}

enum Event {
    /// Cut already: small. Or why it cannot be read.
    Cut(Result<Box<EventSummary>, Error>),
    Whole(Bytes),
}

// === impl Page ===

impl<'a> Page<'a> {
    pub(super) fn new(
        tenant: &'a Tenant,
        platform: &'a Platform,
        emitter: &'a str,
        window: Window,
        is_expanded: bool,
    ) -> Self {
        Self { tenant, platform, emitter, window, is_expanded, found: Vec::new() }
    }

    /// Adds what a stream has for the page.
    pub(super) async fn read(&mut self, stream: &'a str) -> Result<(), Error> {
        let (mut query, mut left) = (self.window.entries, self.window.entries.limit);
        while left > 0 {
            // One more, because a query that goes on begins with the entry that the one before ended with.
            query.limit = READ_AT_ONCE.min(left) + 1;
            let asked = query.limit as usize;
            let entries = self.platform.store.entries(self.tenant, self.emitter, stream, query).await?;
            let (is_last, last) = (entries.len() < asked, entries.last().map(|entry| entry.id));
            left = left.saturating_sub(READ_AT_ONCE);
            for entry in entries {
                self.add(stream, &entry);
            }
            self.trim();
            let Some(last) = last.filter(|last| !is_last && self.may_follow(*last)) else {
                return Ok(());
            };
            query = go_on(query, last);
        }
        Ok(())
    }

    /// Newest first, with the ids of all that are on the page, and of those that cannot be read.
    pub(super) fn finish(mut self) -> Result<(Vec<EventSummary>, Vec<String>, Unreadable), Error> {
        if self.window.entries.order == Order::OldestFirst {
            self.found.reverse();
        }
        let ids = self.found.iter().map(|found| found.id.to_string()).collect();
        let (mut items, mut unreadable) = (Vec::with_capacity(self.found.len()), Unreadable::default());
        for Found { id, stream, event } in self.found {
            let summary = match event {
                Event::Cut(summary) => summary.map(|summary| *summary),
                Event::Whole(value) => EventSummary::of_entry(stream, self.emitter, &Entry { id, value }, true),
            };
            items.extend(unreadable.pass(&id, summary)?);
        }
        Ok((items, ids, unreadable))
    }

    fn add(&mut self, stream: &'a str, entry: &Entry) {
        let is_there = self.found.iter().any(|found| found.id == entry.id);
        if is_there || !self.window.holds(entry.id) {
            return;
        }
        let event = match self.is_expanded {
            true => Event::Whole(entry.value.clone()),
            false => Event::Cut(EventSummary::of_entry(stream, self.emitter, entry, false).map(Box::new)),
        };
        self.found.push(Found { id: entry.id, stream, event });
    }

    /// Drops what cannot be on the page any more: entries that are added later can only push out more.
    fn trim(&mut self) {
        match self.window.entries.order {
            Order::NewestFirst => self.found.sort_by_key(|found| std::cmp::Reverse(found.id)),
            Order::OldestFirst => self.found.sort_by_key(|found| found.id),
        }
        self.found.truncate(self.window.limit);
        let mut size_bytes = 0;
        let fitting = self.found.iter().take_while(|found| {
            size_bytes += found.event.size_bytes();
            size_bytes <= PAGE_BYTES
        });
        let fitting = fitting.count().max(1);
        self.found.truncate(fitting);
    }

    /// Whether an entry after this one could be part of the page.
    fn may_follow(&self, last: EntryId) -> bool {
        let Some(worst) = self.found.last() else {
            return true;
        };
        match self.window.entries.order {
            Order::NewestFirst => last >= worst.id,
            Order::OldestFirst => last <= worst.id,
        }
    }
}

/// The same query, from an entry that was read.
fn go_on(query: EntryQuery, last: EntryId) -> EntryQuery {
    match query.order {
        Order::NewestFirst => EntryQuery { last: Some(last), ..query },
        Order::OldestFirst => EntryQuery { first: Some(last), ..query },
    }
}

// === impl Event ===

impl Event {
    fn size_bytes(&self) -> usize {
        match self {
            Self::Cut(_) => 0,
            Self::Whole(value) => value.len(),
        }
    }
}
