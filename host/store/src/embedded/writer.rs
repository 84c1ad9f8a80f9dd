//! The one thread that writes: takes what waits, applies it, one fsync, answers.
//!
//! Nothing is answered before the transaction is on disk. When the database itself fails (full disk,
//! I/O error) the whole group fails, the order of work is rebuilt from the rows, and the next group
//! tries afresh. While the disk is full nothing is begun that would be written (`disk.rs`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::apply::{Applied, Apply, Memory};
use super::disk::Disk;
use super::inbox::{Bounds, Receiver, Weighed};
use super::record_cache::{RecordCache, RecordChange};
use super::recover;
use super::schema::Opened;
use super::streams::Known;
use crate::feed::{Appended, Feed};
use crate::numbers::Numbers;
use crate::queue::{WaitingHead, index::Index};
use crate::{
    Batch, CommitError, Committed, DirectoryWrite, Error, JobLease, Lease, LeaseRequest, Leased, Load, Partition,
    Shares, Tenant, TimerLease,
};

/// The queue and the groups that share an fsync. What a group costs, whatever is in it, is its fsync and the pages that each of its streams
/// changes. From 48 requests on that is a small part, and it is better to write while other runs compute; a group of 512 still
/// takes only milliseconds.
pub(super) const BOUNDS: Bounds = Bounds {
    capacity: 1024,
    flush_at: 48,
    max_group: 512,
    // A lone tenant on two cores has some seven runs in a millisecond.
    max_wait: Duration::from_millis(4),
    max_shared_wait: Duration::from_micros(200),
    // Half a millisecond of the writer's time: others wait for the group that is being written, and then for their own.
    max_tenant_weight: 48,
    max_lone_weight: 512,
    // A few ordinary runs.
    light_weight: 32,
};
/// Forgotten counters are swept at most once in this much of the callers' time, so many at a time.
const SWEEP_EVERY_MS: u64 = 60_000;
const SWEEP_ROWS: u32 = 1000;

type Reply<Answer> = oneshot::Sender<Answer>;

pub(super) enum Request {
    Commit(Box<Batch>, Reply<Result<Committed, CommitError>>),
    LeaseJobs(Vec<Partition>, LeaseRequest, Shares, Reply<Result<Leased<(Tenant, JobLease)>, Error>>),
    LeaseTimers(Vec<Partition>, LeaseRequest, Reply<Result<Leased<(Tenant, TimerLease)>, Error>>),
    Extend(Tenant, Lease, u64, Reply<Result<(), CommitError>>),
    /// How many to skip, and the most to answer.
    Heads(Tenant, u32, u32, Reply<Result<Vec<WaitingHead>, Error>>),
    Directory(DirectoryWrite, Reply<Result<bool, Error>>),
    /// The last entry of an emitter, when the writer has it in memory. Answered after everything that came before it.
    LastEntry(Tenant, String, Reply<Result<Known, Error>>),
    Load(u64, Reply<Result<Load, Error>>),
}

impl Weighed for Request {
    fn tenant(&self) -> Option<&str> {
        match self {
            Self::Commit(batch, _) => Some(batch.tenant.as_str()),
            Self::Extend(tenant, ..) | Self::LastEntry(tenant, ..) | Self::Heads(tenant, ..) => Some(tenant.as_str()),
            Self::LeaseJobs(..) | Self::LeaseTimers(..) | Self::Directory(..) | Self::Load(..) => None,
        }
    }

    fn weight(&self) -> usize {
        match self {
            Self::Commit(batch, _) => batch.operations.len() + batch.preconditions.len() + batch.parts.len(),
            _ => 1,
        }
    }
}

/// An answer that waits for the fsync: called with the error if there was one.
type Answer = Box<dyn FnOnce(Option<Error>)>;

pub(super) struct Writer {
    connection: Connection,
    disk: Disk,
    partitions: u16,
    /// `None` after a failure until the rows could be read again.
    index: Option<Index>,
    /// The order of work that a failure ended: what it had leased is still being worked on.
    failed: Option<Index>,
    memory: Memory,
    /// The cache of the readers, and the changes of this group to it.
    record_cache: Arc<RecordCache>,
    changed: Vec<(Tenant, RecordChange)>,
    /// Where entries of followed emitters go, and those that the group has appended.
    feed: Feed,
    appended: Vec<Appended>,
    numbers: Arc<Numbers>,
    next_token: u64,
    swept_ms: u64,
}

impl Writer {
    pub(super) fn new(
        (connection, disk): (Connection, Disk),
        opened: &Opened,
        (record_cache, feed, numbers): (Arc<RecordCache>, Feed, Arc<Numbers>),
    ) -> Result<Self, Error> {
        let next_token = opened.epoch << 32;
        let index = Some(recover::index(&connection, opened.partitions, next_token)?);
        Ok(Self {
            connection,
            disk,
            partitions: opened.partitions,
            index,
            failed: None,
            memory: Memory::default(),
            record_cache,
            changed: Vec::new(),
            feed,
            appended: Vec::new(),
            numbers,
            next_token,
            swept_ms: 0,
        })
    }

    pub(super) fn run(mut self, mut inbox: Receiver<Request>) {
        let mut group = VecDeque::with_capacity(BOUNDS.max_group);
        loop {
            inbox.take(&mut group);
            if group.is_empty() {
                return;
            }
            self.write(&mut group);
        }
    }

    pub(super) fn write(&mut self, group: &mut VecDeque<Request>) {
        if !self.disk.may_write() {
            self.refuse_writes(group);
        }
        self.numbers.grouped(group.iter().filter(|request| matches!(request, Request::Commit(..))).count());
        let mut answers = Vec::with_capacity(group.len());
        let outcome = self.write_group(group, &mut answers);
        if let Err(error) = &outcome {
            tracing::error!(%error, "a group of commits failed");
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) {
                self.disk.fill();
            }
            self.recover();
        }
        answers.extend(group.drain(..).map(Request::refused));
        for answer in answers {
            answer(outcome.as_ref().err().map(|error| same_again(error).into()));
        }
    }

    /// Leases are refused as well: what they are for could not be committed.
    fn refuse_writes(&self, group: &mut VecDeque<Request>) {
        let is_read = |request: &Request| {
            matches!(request, Request::LastEntry(..) | Request::Heads(..) | Request::Extend(..) | Request::Load(..))
        };
        let (reads, writes): (VecDeque<Request>, VecDeque<Request>) = group.drain(..).partition(is_read);
        *group = reads;
        for request in writes {
            let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
            request.refused()(Some(rusqlite::Error::SqliteFailure(full, None).into()));
        }
    }

    fn write_group(&mut self, group: &mut VecDeque<Request>, answers: &mut Vec<Answer>) -> Result<(), rusqlite::Error> {
        self.rebuild()?;
        // Leases alone touch no row, and must not cost an fsync.
        let writes = group.iter().any(|request| matches!(request, Request::Commit(..) | Request::Directory(..)));
        if writes {
            self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        }
        let mut now_ms = 0;
        while let Some(request) = group.pop_front() {
            if let Request::Commit(batch, _) = &request {
                now_ms = now_ms.max(batch.now_ms);
            }
            self.write_one(request, answers)?;
        }
        if writes {
            self.memory.flush(&self.connection)?;
            self.sweep(now_ms)?;
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            self.record_cache.change(std::mem::take(&mut self.changed));
            self.feed.publish(std::mem::take(&mut self.appended));
        }
        Ok(())
    }

    fn recover(&mut self) {
        // After some errors SQLite has rolled back already; then this fails, and rightly so.
        let _ = self.connection.execute_batch("ROLLBACK");
        self.memory.forget();
        self.changed.clear();
        self.appended.clear();
        self.record_cache.forget();
        if let Some(failed) = self.index.take() {
            self.next_token = failed.next_token();
            self.failed = Some(failed);
        }
        // When the rows cannot be read now, the next group tries again.
        let _ = self.rebuild();
    }

    /// Reads the order of work from the rows, unless it is known. A failed transaction ends no lease: work that is under
    /// way must not begin a second time because the disk was full for a moment.
    fn rebuild(&mut self) -> Result<(), rusqlite::Error> {
        if self.index.is_some() {
            return Ok(());
        }
        let mut index = recover::index(&self.connection, self.partitions, self.next_token)?;
        if let Some(failed) = self.failed.take() {
            index.keep_leases(&failed);
        }
        self.index = Some(index);
        Ok(())
    }

    fn write_one(&mut self, request: Request, answers: &mut Vec<Answer>) -> Result<(), rusqlite::Error> {
        let Some(index) = self.index.as_mut() else { return Ok(()) };
        match request {
            Request::Commit(batch, reply) => {
                let applied = Apply::run(&self.connection, &mut self.memory, index, &batch);
                let (outcome, failure) = match applied {
                    Ok(Applied { outcome, changes, records }) => {
                        self.changed.extend(records.into_iter().map(|change| (batch.tenant.clone(), change)));
                        for change in changes {
                            index.apply(&batch.tenant, change);
                        }
                        if let Ok(committed) = &outcome {
                            let noted = self.feed.note(&batch.tenant, &batch.operations, &committed.entries);
                            self.appended.extend(noted);
                        }
                        (outcome, Ok(()))
                    }
                    Err(error) => (Err(Error::Closed.into()), Err(error)),
                };
                answers.push(answer(reply, outcome));
                return failure;
            }
            Request::LeaseJobs(partitions, request, shares, reply) => {
                answers.push(answer(reply, Ok(index.lease_jobs(&partitions, request, shares))));
            }
            Request::LeaseTimers(partitions, request, reply) => {
                answers.push(answer(reply, Ok(index.lease_timers(&partitions, request))));
            }
            Request::Extend(tenant, lease, until_ms, reply) => {
                let held = index.extend(&tenant, &lease, until_ms);
                answers.push(answer(reply, if held { Ok(()) } else { Err(CommitError::LeaseLost) }));
            }
            Request::Heads(tenant, skip, limit, reply) => {
                answers.push(answer(reply, Ok(index.heads(&tenant, skip, limit))));
            }
            Request::Directory(write, reply) => {
                let (outcome, failure) = match write_directory(&self.connection, &write) {
                    Ok(written) => (Ok(written), Ok(())),
                    Err(error) => (Err(Error::Closed), Err(error)),
                };
                answers.push(answer(reply, outcome));
                return failure;
            }
            Request::LastEntry(tenant, emitter, reply) => {
                answers.push(answer(reply, Ok(self.memory.last_entry(&tenant, &emitter))));
            }
            Request::Load(now_ms, reply) => answers.push(answer(reply, Ok(index.load(now_ms)))),
        }
        Ok(())
    }

    fn sweep(&mut self, now_ms: u64) -> Result<(), rusqlite::Error> {
        if now_ms < self.swept_ms.saturating_add(SWEEP_EVERY_MS) {
            return Ok(());
        }
        self.swept_ms = now_ms;
        self.memory.sweep_locks(now_ms);
        self.connection
            .prepare_cached(
                "DELETE FROM counters WHERE (tenant, name) IN
                 (SELECT tenant, name FROM counters WHERE expires_ms <= ?1 LIMIT ?2)",
            )?
            .execute((now_ms, SWEEP_ROWS))?;
        Ok(())
    }
}

impl Request {
    /// For requests of a group that failed before their turn; the error is told with the answer.
    fn refused(self) -> Answer {
        match self {
            Self::Commit(_, reply) => answer(reply, Err(Error::Closed.into())),
            Self::LeaseJobs(_, _, _, reply) => answer(reply, Err(Error::Closed)),
            Self::LeaseTimers(_, _, reply) => answer(reply, Err(Error::Closed)),
            Self::Extend(_, _, _, reply) => answer(reply, Err(Error::Closed.into())),
            Self::Heads(_, _, _, reply) => answer(reply, Err(Error::Closed)),
            Self::Directory(_, reply) => answer(reply, Err(Error::Closed)),
            Self::LastEntry(_, _, reply) => answer(reply, Err(Error::Closed)),
            Self::Load(_, reply) => answer(reply, Err(Error::Closed)),
        }
    }
}

fn answer<Value: 'static, Failure: From<Error> + 'static>(
    reply: Reply<Result<Value, Failure>>,
    outcome: Result<Value, Failure>,
) -> Answer {
    Box::new(move |error| {
        // A caller that went away is not a problem of the writer.
        let _ = reply.send(match error {
            Some(error) => Err(error.into()),
            None => outcome,
        });
    })
}

fn write_directory(connection: &Connection, write: &DirectoryWrite) -> Result<bool, rusqlite::Error> {
    match write {
        DirectoryWrite::Put { key, value } => {
            let sql =
                "INSERT INTO directory (key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
            connection.prepare_cached(sql)?.execute((key, &value[..]))?;
            Ok(true)
        }
        DirectoryWrite::Claim { key, value } => {
            let sql = "INSERT INTO directory (key, value) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            connection.prepare_cached(sql)?.execute((key, &value[..]))?;
            let sql = "SELECT value = ?2 FROM directory WHERE key = ?1";
            connection.prepare_cached(sql)?.query_row((key, &value[..]), |row| row.get(0))
        }
        DirectoryWrite::Remove { key } => {
            connection.prepare_cached("DELETE FROM directory WHERE key = ?1")?.execute([key])?;
            Ok(true)
        }
    }
}

/// Every request of a failed group gets the error; `rusqlite::Error` is not `Clone`.
fn same_again(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, text) => rusqlite::Error::SqliteFailure(*code, text.clone()),
        _ => rusqlite::Error::InvalidQuery,
    }
}
