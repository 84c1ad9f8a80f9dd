//! How fast a store commits, next to what the bare database can do with the same rows.
//!
//! The batch is the typical one of a webhook: one event, one counter, one job in, one job done.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rusqlite::Connection;

use store::{
    Batch, CommitError, Enqueue, EntryRef, Error, JobLease, LeaseRequest, MAX_LEASES, Op, Partition, Store, Tenant,
};

/// Concurrent committers that are measured: alone, a busy host, a flood.
pub(super) const COMMITTERS: [usize; 3] = [1, 16, 256];
/// A small webhook body.
const VALUE_BYTES: usize = 512;
const KEEP: u32 = 100;
const TENANTS: usize = 16;
/// Leases of the measured jobs outlive any measurement.
const LEASE_MS: u64 = 86_400_000;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub committers: usize,
    pub commits: usize,
    pub commits_per_second: f64,
    pub p50: Duration,
    pub p99: Duration,
}

/// `committers` tasks share `commits` typical batches. Give each call a store of its own.
pub(super) async fn commits(store: &Arc<dyn Store>, committers: usize, commits: usize) -> Result<Figures, CommitError> {
    let each = commits.div_ceil(committers.max(1));
    let leases = lease_jobs(store, each * committers).await?;
    // Dealt out in turn: jobs are done in about the order they were leased in, as by workers, and as the bare rows are.
    let deal = |committer| leases.iter().skip(committer).step_by(committers).cloned().collect();
    let hands: Vec<Vec<_>> = (0..committers).map(deal).collect();
    let started = Instant::now();
    let tasks: Vec<_> = hands.into_iter().map(|jobs| tokio::spawn(commit_each(Arc::clone(store), jobs))).collect();
    let mut times = Vec::with_capacity(commits);
    for task in tasks {
        times.extend(task.await.map_err(Error::Worker)??);
    }
    Ok(figures(committers, times, started.elapsed()))
}

/// The same rows in plain SQLite, `per_transaction` batches to a transaction, from one thread.
pub(super) fn bare(folder: &Path, per_transaction: usize, commits: usize) -> Result<Figures, Error> {
    let mut connection = Connection::open(folder.join("bare.db"))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS entries (stream INTEGER, id INTEGER, value BLOB, PRIMARY KEY (stream, id)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS counters (tenant TEXT, name TEXT, value INTEGER, PRIMARY KEY (tenant, name)) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS jobs (job INTEGER PRIMARY KEY, tenant TEXT, payload BLOB);
         DELETE FROM entries; DELETE FROM counters; DELETE FROM jobs;",
    )?;
    let started = Instant::now();
    let mut times = Vec::with_capacity(commits);
    let numbers: Vec<usize> = (0..commits).collect();
    for group in numbers.chunks(per_transaction.max(1)) {
        let begun = Instant::now();
        let transaction = connection.transaction()?;
        for number in group {
            insert_bare(&transaction, *number)?;
        }
        transaction.commit()?;
        times.extend(group.iter().map(|_| begun.elapsed()));
    }
    Ok(figures(per_transaction, times, started.elapsed()))
}

fn insert_bare(connection: &Connection, number: usize) -> Result<(), Error> {
    let (value, payload) = (value(), payload());
    let tenant = format!("u_{}", number % TENANTS);
    let mut statement = connection.prepare_cached("INSERT INTO entries (stream, id, value) VALUES (?1, ?2, ?3)")?;
    statement.execute((number % TENANTS, number, &value[..]))?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO counters (tenant, name, value) VALUES (?1, 'invocations', 1)
         ON CONFLICT DO UPDATE SET value = value + 1",
    )?;
    statement.execute([&tenant])?;
    let mut statement = connection.prepare_cached("INSERT INTO jobs (job, tenant, payload) VALUES (?1, ?2, ?3)")?;
    statement.execute((number + 1000, &tenant, &payload[..]))?;
    connection.prepare_cached("DELETE FROM jobs WHERE job = ?1")?.execute([number])?;
    Ok(())
}

/// Jobs that the measured commits will acknowledge.
async fn lease_jobs(store: &Arc<dyn Store>, count: usize) -> Result<Vec<(Tenant, JobLease)>, CommitError> {
    for number in 0..TENANTS {
        let mut batch = Batch::new(&tenant(number)?, 0);
        batch.operations = (number..count).step_by(TENANTS).map(|_| enqueue(None)).collect();
        store.commit(batch).await?;
    }
    let partitions = Partition::all(store.partitions());
    let request = LeaseRequest { now_ms: 1, lease_ms: LEASE_MS, max: MAX_LEASES };
    let mut leases = Vec::with_capacity(count);
    loop {
        let leased = store.lease_jobs(&partitions, request, store::Shares::default()).await?;
        if leased.items.is_empty() {
            return Ok(leases);
        }
        leases.extend(leased.items.into_iter().map(|job| (job.tenant, job.lease)));
    }
}

async fn commit_each(store: Arc<dyn Store>, jobs: Vec<(Tenant, JobLease)>) -> Result<Vec<Duration>, CommitError> {
    let mut times = Vec::with_capacity(jobs.len());
    for (now_ms, (tenant, lease)) in (2..).zip(jobs) {
        let append = Op::Append { emitter: "dc_bench".into(), stream: "default".into(), value: value(), keep: KEEP };
        let count = Op::Count { counter: "invocations".into(), amount: 1, expires_ms: None };
        let batch = Batch::new(&tenant, now_ms)
            .then(append)
            .then(count)
            .then(enqueue(Some(EntryRef::InBatch(0))))
            .then(Op::Acknowledge(lease));
        let begun = Instant::now();
        store.commit(batch).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

fn figures(committers: usize, mut times: Vec<Duration>, elapsed: Duration) -> Figures {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len().saturating_sub(1) * share / 100).copied().unwrap_or_default();
    let (p50, p99, commits) = (at(50), at(99), times.len());
    let counted = u32::try_from(commits).unwrap_or(u32::MAX);
    Figures { committers, commits, commits_per_second: f64::from(counted) / elapsed.as_secs_f64(), p50, p99 }
}

fn tenant(number: usize) -> Result<Tenant, Error> {
    // Always parses; a bench that cannot name its tenants has nothing to measure.
    Tenant::parse(&format!("u_{number}")).map_err(|_| Error::Closed)
}

fn enqueue(entry: Option<EntryRef>) -> Op {
    Op::Enqueue(Enqueue { lane: None, due_ms: 1, payload: payload(), entry, held_until_ms: None })
}

fn value() -> Bytes {
    Bytes::from_static(&[b'x'; VALUE_BYTES])
}

fn payload() -> Bytes {
    Bytes::from_static(&[b'p'; 64])
}

#[cfg(test)]
mod tests;
