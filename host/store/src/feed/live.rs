//! One reader of an emitter's log, and the entries that readers share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::sync::{SemaphorePermit, watch};

use super::log::Log;
use super::{Appended, Feed};
use crate::{EntryId, Tenant};

/// What an entry takes besides its value and its name, roughly: its place in the log and its allocations.
const ENTRY_BYTES: usize = 160;

/// A reader of everything that is appended to an emitter.
pub struct Live {
    feed: Feed,
    topic: Arc<Topic>,
    position: u64,
    woken: watch::Receiver<()>,
}

/// What comes next.
#[derive(Debug)]
pub enum Taken {
    Entry(Arc<LiveEntry>),
    /// Entries that were committed will not come: the reader was too slow, or the engine cannot exclude that some were
    /// missed. Nothing follows.
    Lost,
}

/// One entry, shared by its readers.
#[derive(Debug)]
pub struct LiveEntry {
    pub id: EntryId,
    pub stream: String,
    pub value: Bytes,
    /// The form in which it is sent, made once.
    rendered: OnceLock<Vec<u8>>,
    account: Account,
}

/// Bytes that are held, for a tenant and for all.
#[derive(Debug, Clone)]
pub(super) struct Account {
    tenant: Arc<AtomicUsize>,
    total: Arc<AtomicUsize>,
}

/// A followed emitter.
pub(super) struct Topic {
    pub(super) tenant: Tenant,
    pub(super) emitter: String,
    pub(super) account: Account,
    log: Mutex<Log>,
    woken: watch::Sender<()>,
}

/// Lends the rendered bytes to a connection, and with them the entry.
struct Rendered(Arc<LiveEntry>);

// === impl Live ===

impl Live {
    pub(super) fn join(feed: Feed, topic: Arc<Topic>) -> Self {
        let (position, woken) = (topic.log().join(), topic.woken.subscribe());
        Self { feed, topic, position, woken }
    }

    /// Until there is something to take. Cancel-safe.
    pub async fn ready(&mut self) {
        loop {
            // Before it is looked, so that what comes in between wakes.
            self.woken.mark_unchanged();
            if self.is_ready() {
                return;
            }
            // The sender is in the topic, which is held here.
            let _ = self.woken.changed().await;
        }
    }

    pub fn is_ready(&self) -> bool {
        self.topic.log().has_news(self.position)
    }

    /// `None` when there is nothing new.
    pub fn take(&mut self) -> Option<Taken> {
        self.topic.log().take(&mut self.position)
    }

    /// A turn to read entries of before from the store: few readers do so at once, because a page may be megabytes.
    /// `None` when as much is held as may be, for the tenant or in all.
    pub async fn turn_to_read(&self) -> Option<SemaphorePermit<'_>> {
        let turn = self.feed.shared.turns.acquire().await.ok()?;
        (!self.feed.shared.is_full(&self.topic)).then_some(turn)
    }

    /// An entry that was read from the store, charged to the same account.
    pub fn adopt(&self, id: EntryId, stream: &str, value: Bytes) -> Arc<LiveEntry> {
        Arc::new(LiveEntry::new(id, stream.to_owned(), value, self.topic.account.clone()))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.feed.leave(&self.topic, self.position);
    }
}

// === impl LiveEntry ===

impl LiveEntry {
    fn new(id: EntryId, stream: String, value: Bytes, account: Account) -> Self {
        let entry = Self { id, stream, value, rendered: OnceLock::new(), account };
        entry.account.charge(entry.size_bytes());
        entry
    }

    /// Without the rendered form.
    pub(super) fn size_bytes(&self) -> usize {
        ENTRY_BYTES + self.stream.len() + self.value.len()
    }

    /// The form in which it is sent. Made by the first reader that asks, and the same memory for all: `render` must not
    /// depend on the reader.
    pub fn rendered(self: &Arc<Self>, render: impl FnOnce(&Self) -> Vec<u8>) -> Bytes {
        self.rendered.get_or_init(|| {
            let rendered = render(self);
            self.account.charge(rendered.len());
            rendered
        });
        Bytes::from_owner(Rendered(self.clone()))
    }
}

impl Drop for LiveEntry {
    fn drop(&mut self) {
        self.account.discharge(self.size_bytes() + self.rendered.get().map_or(0, Vec::len));
    }
}

impl AsRef<[u8]> for Rendered {
    fn as_ref(&self) -> &[u8] {
        self.0.rendered.get().map_or(&[], Vec::as_slice)
    }
}

// === impl Account ===

impl Account {
    pub(super) fn new(total: &Arc<AtomicUsize>) -> Self {
        Self { tenant: Arc::default(), total: total.clone() }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.tenant.load(Ordering::Relaxed)
    }

    fn charge(&self, size_bytes: usize) {
        self.tenant.fetch_add(size_bytes, Ordering::Relaxed);
        self.total.fetch_add(size_bytes, Ordering::Relaxed);
    }

    fn discharge(&self, size_bytes: usize) {
        self.tenant.fetch_sub(size_bytes, Ordering::Relaxed);
        self.total.fetch_sub(size_bytes, Ordering::Relaxed);
    }
}

// === impl Topic ===

impl Topic {
    pub(super) fn new(tenant: Tenant, emitter: String, account: Account) -> Self {
        Self { tenant, emitter, account, log: Mutex::default(), woken: watch::Sender::new(()) }
    }

    pub(super) fn is_of(&self, tenant: &Tenant, emitter: &str) -> bool {
        self.tenant == *tenant && self.emitter == emitter
    }

    pub(super) fn push(&self, appended: Appended, most_bytes: usize) {
        let Appended { id, stream, value, .. } = appended;
        let entry = LiveEntry::new(id, stream, value, self.account.clone());
        self.log().push(Arc::new(entry), most_bytes);
    }

    pub(super) fn wake(&self) {
        self.woken.send_replace(());
    }

    pub(super) fn size_bytes(&self) -> usize {
        self.log().size_bytes()
    }

    pub(super) fn evict(&self, most_bytes: usize) {
        self.log().evict(most_bytes);
        self.wake();
    }

    pub(super) fn lose(&self) {
        self.log().lose();
        self.wake();
    }

    pub(super) fn leave(&self, position: u64) -> bool {
        self.log().leave(position)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
