//! The engine inside the binary: SQLite, one file, no service to install.
//!
//! One thread owns the only writing connection and the order of work. It takes the batches that wait in
//! its bounded queue, applies them in one transaction and answers after one fsync (`synchronous=FULL`
//! on a write-ahead log): concurrent commits share the cost of durability. A batch that fails leaves
//! nothing behind and does not affect the others. Readers have their own connections and are never
//! blocked by the writer.
//!
//! Leases live in memory: after a restart every job is available at once, also one that its host held
//! because it was working on it. That is safe because the file belongs to one process: a second one is
//! refused by a lock that the kernel releases when the process ends, however it ends.

mod apply;
pub(crate) mod block;
mod copies;
mod counters;
mod disk;
mod folding;
mod inbox;
mod joining;
mod priority;
mod readers;
mod reading;
mod record_cache;
mod recover;
mod schema;
mod streams;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use async_trait::async_trait;
use bytes::Bytes;
use metrics::Family;
use tokio::sync::oneshot;

use self::disk::Disk;
use self::inbox::Inbox;
use self::readers::Readers;
use self::record_cache::RecordCache;
use self::streams::Known;
use self::writer::{BOUNDS, Request, Writer};
use crate::feed::{Bounds, Feed};
use crate::lock_file::lock_file;
use crate::numbers::Numbers;
use crate::pulse::makes_work;
use crate::{
    Batch, CommitError, Committed, Directory, DirectoryWrite, Entry, EntryId, EntryQuery, Error, Head, Job, JobLease,
    Keys, Lease, LeaseRequest, Leased, Live, Load, Lookup, Page, Partition, Pulse, Reads, Record, Records, Shares,
    Store, StreamInfo, Tenant, Tick, TimerLease, Values, Work,
};

pub use self::copies::{Inspection, back_up, fold, inspect, is_in_use, restore, verify};
pub use self::priority::{GOES_FIRST_BY, ask_for_slices};

pub struct Embedded {
    path: PathBuf,
    partitions: u16,
    inbox: Option<Inbox<Request>>,
    writer: Option<JoinHandle<()>>,
    folding: Option<JoinHandle<rusqlite::Connection>>,
    readers: Arc<Readers>,
    record_cache: Arc<RecordCache>,
    pulse: Pulse,
    feed: Feed,
    numbers: Arc<Numbers>,
    /// Held as long as the store lives; the system lets go of it when the process dies.
    lock: File,
}

impl Embedded {
    /// Opens or creates the store in this file; its folder must exist.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let lock = lock(path)?;
        make_private(path).map_err(|source| Error::Folder { path: path.into(), source })?;
        let mut disk = Disk::new(path);
        let (mut connection, opened) = disk.open(|| schema::open_writer(path))?;
        let folding = folding::start(path, &mut connection, folding::BOUNDS)?;
        let (inbox, receiver) = inbox::new(BOUNDS);
        let record_cache = Arc::new(RecordCache::default());
        let feed = Feed::new(Bounds::default());
        let numbers = Arc::<Numbers>::default();
        let shared = (record_cache.clone(), feed.clone(), numbers.clone());
        let writer = Writer::new((connection, disk), &opened, shared)?;
        let writer = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || {
                priority::go_first();
                writer.run(receiver);
            })
            .map_err(|source| Error::Folder { path: path.into(), source })?;
        Ok(Self {
            path: path.into(),
            partitions: opened.partitions,
            inbox: Some(inbox),
            writer: Some(writer),
            folding: Some(folding),
            readers: Arc::new(Readers::new(path)),
            record_cache,
            pulse: Pulse::new(),
            feed,
            numbers,
            lock,
        })
    }

    /// From now on other processes may read the file as well: for a store that is behind [`crate::ReadOnly`]. What reads it
    /// here goes on when the file is given another name.
    pub fn share(&self) -> Result<(), Error> {
        self.readers.open_all()?;
        self.lock.lock_shared().map_err(|source| Error::Folder { path: self.path.clone(), source })
    }

    /// Writes a consistent copy while the store goes on working.
    pub async fn backup(&self, target: &Path) -> Result<(), Error> {
        let (source, target) = (self.path.clone(), target.to_owned());
        let copy = move || -> Result<(), Error> {
            let source = schema::open_reader(&source)?;
            let mut target = rusqlite::Connection::open(target)?;
            // All pages in one step: a read transaction of the log, which no writer can disturb.
            let backup = rusqlite::backup::Backup::new(&source, &mut target)?;
            backup.step(-1)?;
            Ok(())
        };
        tokio::task::spawn_blocking(copy).await?
    }

    /// After every request that came before.
    async fn known_last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Known, Error> {
        let (tenant, emitter) = (tenant.clone(), emitter.to_owned());
        self.ask(|reply| Request::LastEntry(tenant, emitter, reply)).await?
    }

    async fn ask<Answer>(&self, request: impl FnOnce(oneshot::Sender<Answer>) -> Request) -> Result<Answer, Error> {
        let (reply, answer) = oneshot::channel();
        self.inbox.as_ref().ok_or(Error::Closed)?.put(request(reply)).await?;
        answer.await.map_err(|_| Error::Closed)
    }
}

/// A connection past the writer, for a store that no process has open.
pub(crate) fn connect(path: &Path) -> Result<rusqlite::Connection, Error> {
    schema::open_plain(path)
}

pub(crate) fn has_blocks(connection: &rusqlite::Connection) -> Result<bool, Error> {
    schema::has_blocks(connection)
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // Readers close first: the last connection to close checkpoints the log, and a reader may not write.
        self.readers = Arc::new(Readers::new(&self.path));
        // The writer finishes what it was given and ends; then the file is free.
        drop(self.inbox.take());
        let _ = self.writer.take().map(JoinHandle::join);
        let _ = self.folding.take().map(JoinHandle::join);
    }
}

#[async_trait]
impl Store for Embedded {
    #[expect(clippy::disallowed_methods, reason = "measures commits for the metrics")]
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        batch.check()?;
        let (makes_work, begun) = (makes_work(&batch), Instant::now());
        let committed = self.ask(|reply| Request::Commit(Box::new(batch), reply)).await?;
        self.numbers.committed(begun.elapsed(), matches!(committed, Err(CommitError::Unavailable(_))));
        let committed = committed?;
        if makes_work {
            self.pulse.work_is_there();
        }
        Ok(committed)
    }

    async fn follow(&self, tenant: &Tenant, emitter: &str) -> Result<Live, Error> {
        let live = self.feed.join(tenant, emitter);
        // A group that is being written may have looked before there was a reader.
        self.known_last_entry(tenant, emitter).await?;
        Ok(live)
    }

    fn partitions(&self) -> u16 {
        self.partitions
    }

    fn families(&self) -> Vec<Family> {
        let mut families = self.numbers.families();
        families.extend(self.numbers.of_record_cache(self.record_cache.held_bytes()));
        families
    }
}

#[async_trait]
impl Reads for Embedded {
    async fn record(&self, tenant: &Tenant, kind: &str, lookup: Lookup<'_>) -> Result<Option<Record>, Error> {
        let (name, begun) = match lookup {
            Lookup::Id(id) => match self.record_cache.record(tenant, kind, id) {
                Ok(found) => {
                    self.numbers.record_cache.hit();
                    return Ok(found);
                }
                Err(begun) => (id, Some(begun)),
            },
            Lookup::Alias(alias) => (alias, None),
        };
        let owned = (tenant.clone(), kind.to_owned(), name.to_owned());
        let read = move |reader: &_| reading::record(reader, &owned.0, &owned.1, &owned.2, begun.is_none());
        let found = self.readers.read(read).await?;
        if let Some(begun) = begun {
            self.numbers.record_cache.missed();
            self.record_cache.keep_record(begun, tenant, kind, name, &found);
        }
        Ok(found)
    }

    async fn records(&self, tenant: &Tenant, kind: &str, page: Page) -> Result<Records, Error> {
        let begun = match self.record_cache.page(tenant, kind, page) {
            Ok(found) => {
                self.numbers.record_cache.hit();
                return Ok(found);
            }
            Err(begun) => begun,
        };
        let owned = (tenant.clone(), kind.to_owned());
        let found = self.readers.read(move |reader| reading::records(reader, &owned.0, &owned.1, page)).await?;
        if let Some(begun) = begun {
            self.numbers.record_cache.missed();
            self.record_cache.keep_page(begun, tenant, kind, &found);
        }
        Ok(found)
    }

    async fn streams(&self, tenant: &Tenant, emitter: &str) -> Result<Vec<StreamInfo>, Error> {
        let (tenant, emitter) = (tenant.clone(), emitter.to_owned());
        self.readers.read(move |reader| reading::streams(reader, &tenant, &emitter)).await
    }

    async fn last_entry(&self, tenant: &Tenant, emitter: &str) -> Result<Option<EntryId>, Error> {
        if let Some(last) = self.known_last_entry(tenant, emitter).await? {
            return Ok(last);
        }
        let (tenant, emitter) = (tenant.clone(), emitter.to_owned());
        self.readers.read(move |reader| reading::last_entry(reader, &tenant, &emitter)).await
    }

    async fn entries(
        &self,
        tenant: &Tenant,
        emitter: &str,
        stream: &str,
        query: EntryQuery,
    ) -> Result<Vec<Entry>, Error> {
        let (tenant, emitter, stream) = (tenant.clone(), emitter.to_owned(), stream.to_owned());
        self.readers.read(move |reader| reading::entries(reader, &tenant, &emitter, &stream, query)).await
    }

    async fn values(&self, tenant: &Tenant, scope: &str, keys: &[String]) -> Result<Values, Error> {
        let (tenant, scope, keys) = (tenant.clone(), scope.to_owned(), keys.to_vec());
        self.readers.read(move |reader| reading::values(reader, &tenant, &scope, &keys)).await
    }

    async fn keys(&self, tenant: &Tenant, scope: &str, after: Option<&str>, limit: u32) -> Result<Keys, Error> {
        let (tenant, scope, after) = (tenant.clone(), scope.to_owned(), after.map(str::to_owned));
        self.readers.read(move |reader| reading::keys(reader, &tenant, &scope, after.as_deref(), limit)).await
    }

    async fn counters(&self, tenant: &Tenant, counters: &[String]) -> Result<Vec<i64>, Error> {
        let (tenant, counters) = (tenant.clone(), counters.to_vec());
        self.readers.read(move |reader| reading::counters(reader, &tenant, &counters)).await
    }

    async fn stored_bytes(&self, tenant: &Tenant) -> Result<u64, Error> {
        let tenant = tenant.clone();
        self.readers.read(move |reader| reading::stored_bytes(reader, &tenant)).await
    }
}

#[async_trait]
impl Work for Embedded {
    async fn lease_jobs(
        &self,
        partitions: &[Partition],
        request: LeaseRequest,
        shares: Shares,
    ) -> Result<Leased<Job>, Error> {
        let partitions = partitions.to_vec();
        let leased: Leased<(Tenant, JobLease)> =
            self.ask(|reply| Request::LeaseJobs(partitions, request, shares, reply)).await??;
        if leased.items.is_empty() {
            return Ok(Leased { items: Vec::new(), next_due_ms: leased.next_due_ms });
        }
        // The payloads are read here and not by the writer, because all commits share the writer's time.
        self.readers.read(move |reader| reading::jobs(reader, leased)).await
    }

    async fn lease_timers(&self, partitions: &[Partition], request: LeaseRequest) -> Result<Leased<Tick>, Error> {
        let partitions = partitions.to_vec();
        let leased: Leased<(Tenant, TimerLease)> =
            self.ask(|reply| Request::LeaseTimers(partitions, request, reply)).await??;
        if leased.items.is_empty() {
            return Ok(Leased { items: Vec::new(), next_due_ms: leased.next_due_ms });
        }
        self.readers.read(move |reader| reading::ticks(reader, leased)).await
    }

    async fn extend(&self, tenant: &Tenant, lease: &Lease, until_ms: u64) -> Result<(), CommitError> {
        let (tenant, lease) = (tenant.clone(), lease.clone());
        self.ask(|reply| Request::Extend(tenant, lease, until_ms, reply)).await?
    }

    async fn load(&self, now_ms: u64) -> Result<Load, Error> {
        let load = self.ask(|reply| Request::Load(now_ms, reply)).await??;
        let path = self.path.clone();
        let size_bytes = tokio::task::spawn_blocking(move || size_bytes(&path)).await?;
        Ok(Load { size_bytes: Some(size_bytes), ..load })
    }

    async fn heads(&self, tenant: &Tenant, skip: u32, limit: u32) -> Result<Vec<Head>, Error> {
        let tenant = tenant.clone();
        let heads = self.ask(|reply| Request::Heads(tenant, skip, limit, reply)).await??;
        self.readers.read(move |reader| reading::heads(reader, &heads)).await
    }

    fn pulse(&self) -> &Pulse {
        &self.pulse
    }
}

#[async_trait]
impl Directory for Embedded {
    async fn look_up(&self, key: &str) -> Result<Option<Bytes>, Error> {
        let key = key.to_owned();
        self.readers.read(move |reader| reading::directory(reader, &key)).await
    }

    async fn write_directory(&self, write: DirectoryWrite) -> Result<bool, Error> {
        self.ask(|reply| Request::Directory(write, reply)).await?
    }
}

/// Events and sealed secrets are for no other user. The files that SQLite makes beside it get the same mode.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(PermissionsExt::from_mode(0o600))?;
    }
    Ok(())
}

/// The file, and the log beside it.
fn size_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    [path.as_os_str(), &log].iter().filter_map(|file| std::fs::metadata(file).ok()).map(|found| found.len()).sum()
}

fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let locked = lock_file(Path::new(&name)).map_err(|source| Error::Folder { path: path.into(), source })?;
    locked.ok_or_else(|| Error::InUse { path: path.into() })
}

#[cfg(test)]
mod tests;
