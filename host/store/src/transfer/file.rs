//! Rows of a file, and a file as the target of a move.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Params, Row as Columns, Transaction, params};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::rows::Row;
use super::{AHEAD, CHUNK_BYTES, CHUNK_ROWS, tenant_of};
use crate::embedded::block::members;
use crate::embedded::{connect, has_blocks};
use crate::{EntryId, Error};

/// Rows of each kind in an order that does not change while nothing is written.
const RECORDS: &str = "SELECT tenant, kind, id, alias, version, value FROM records ORDER BY position";
const STREAMS: &str = "SELECT tenant, emitter, name, (SELECT max(last) FROM streams AS all_of \
    WHERE all_of.tenant = streams.tenant AND all_of.emitter = streams.emitter) FROM streams ORDER BY stream";
const ENTRIES: &str = "SELECT tenant, emitter, name, first, id, members, value \
    FROM entries JOIN streams USING (stream) ORDER BY stream, id";
/// The same of a file that an older version has left, and which stays as it is.
const SINGLE_ENTRIES: &str = "SELECT tenant, emitter, name, 0, id, NULL, value \
    FROM entries JOIN streams USING (stream) ORDER BY stream, id";
const VALUES: &str = "SELECT tenant, name, key, value FROM state JOIN scopes USING (scope) ORDER BY scope, key";
const COUNTERS: &str = "SELECT tenant, name, value, expires_ms FROM counters ORDER BY tenant, name";
const JOBS: &str = "SELECT tenant, lane, due_ms, attempt, entry, payload FROM jobs ORDER BY job";
const TIMERS: &str = "SELECT tenant, timer, due_ms, schedule FROM timers ORDER BY tenant, timer";
const DIRECTORY: &str = "SELECT key, value FROM directory ORDER BY key";

/// Sends the rows of a store in chunks, from a thread of its own.
pub(super) fn read(path: PathBuf) -> (mpsc::Receiver<Vec<Row>>, JoinHandle<Result<(), Error>>) {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let reading = tokio::task::spawn_blocking(move || {
        let connection = connect(&path)?;
        let mut chunks = Chunks { sender, rows: Vec::new(), size_bytes: 0 };
        chunks.read(&connection, RECORDS, record)?;
        chunks.read(&connection, STREAMS, stream)?;
        let all_entries = if has_blocks(&connection)? { ENTRIES } else { SINGLE_ENTRIES };
        chunks.read_all(&connection, all_entries, entries)?;
        chunks.read(&connection, VALUES, value)?;
        chunks.read(&connection, COUNTERS, counter)?;
        chunks.read(&connection, JOBS, job)?;
        chunks.read(&connection, TIMERS, timer)?;
        chunks.read(&connection, DIRECTORY, directory)?;
        chunks.send();
        Ok(())
    });
    (receiver, reading)
}

struct Chunks {
    sender: mpsc::Sender<Vec<Row>>,
    rows: Vec<Row>,
    size_bytes: usize,
}

impl Chunks {
    fn read(
        &mut self,
        connection: &Connection,
        query: &str,
        row: fn(&Columns<'_>) -> Result<Row, Error>,
    ) -> Result<(), Error> {
        self.read_all(connection, query, |columns| Ok(vec![row(columns)?]))
    }

    /// Where a row of the file may be several.
    fn read_all(
        &mut self,
        connection: &Connection,
        query: &str,
        rows_in: impl Fn(&Columns<'_>) -> Result<Vec<Row>, Error>,
    ) -> Result<(), Error> {
        let mut statement = connection.prepare(query)?;
        let mut found = statement.query([])?;
        while let Some(columns) = found.next()? {
            for row in rows_in(columns)? {
                self.add(row);
            }
        }
        Ok(())
    }

    fn add(&mut self, row: Row) {
        self.size_bytes += row.size_bytes();
        self.rows.push(row);
        if self.rows.len() >= CHUNK_ROWS || self.size_bytes >= CHUNK_BYTES {
            self.send();
        }
    }

    fn send(&mut self) {
        self.size_bytes = 0;
        // The receiver went away with an error of its own.
        let _ = self.sender.blocking_send(std::mem::take(&mut self.rows));
    }
}

fn record(columns: &Columns<'_>) -> Result<Row, Error> {
    let (kind, id, alias, version) = (columns.get(1)?, columns.get(2)?, columns.get(3)?, columns.get(4)?);
    Ok(Row::Record {
        tenant: tenant_of(&columns.get::<_, String>(0)?)?,
        kind,
        id,
        alias,
        version,
        value: blob(columns, 5)?,
    })
}

fn stream(columns: &Columns<'_>) -> Result<Row, Error> {
    let tenant = tenant_of(&columns.get::<_, String>(0)?)?;
    Ok(Row::Stream {
        tenant,
        emitter: columns.get(1)?,
        name: columns.get(2)?,
        last: EntryId::unpacked(columns.get(3)?),
    })
}

fn entries(columns: &Columns<'_>) -> Result<Vec<Row>, Error> {
    let tenant = tenant_of(&columns.get::<_, String>(0)?)?;
    let (emitter, stream, first): (String, String, i64) = (columns.get(1)?, columns.get(2)?, columns.get(3)?);
    let members = members(columns.get(4)?, columns.get_ref(5)?.as_blob_or_null().map_err(rusqlite::Error::from)?)?;
    let values = blob(columns, 6)?;
    let kept = members.into_iter().filter(|member| member.id >= first);
    let rows = kept.map(|member| {
        let value = values.slice_ref(member.value(&values)?);
        let (tenant, emitter, stream) = (tenant.clone(), emitter.clone(), stream.clone());
        Ok(Row::Entry { tenant, emitter, stream, id: member.entry_id(), value })
    });
    rows.collect()
}

fn value(columns: &Columns<'_>) -> Result<Row, Error> {
    let tenant = tenant_of(&columns.get::<_, String>(0)?)?;
    Ok(Row::Value { tenant, scope: columns.get(1)?, key: columns.get(2)?, value: blob(columns, 3)? })
}

fn counter(columns: &Columns<'_>) -> Result<Row, Error> {
    let tenant = tenant_of(&columns.get::<_, String>(0)?)?;
    Ok(Row::Counter { tenant, name: columns.get(1)?, value: columns.get(2)?, expires_ms: columns.get(3)? })
}

fn job(columns: &Columns<'_>) -> Result<Row, Error> {
    let tenant = tenant_of(&columns.get::<_, String>(0)?)?;
    let (lane, due_ms, attempt) = (columns.get(1)?, columns.get(2)?, columns.get(3)?);
    let entry = columns.get::<_, Option<i64>>(4)?.map(EntryId::unpacked);
    Ok(Row::Job { tenant, lane, due_ms, attempt, entry, payload: blob(columns, 5)? })
}

fn timer(columns: &Columns<'_>) -> Result<Row, Error> {
    let tenant = tenant_of(&columns.get::<_, String>(0)?)?;
    Ok(Row::Timer { tenant, timer: columns.get(1)?, due_ms: columns.get(2)?, schedule: blob(columns, 3)? })
}

fn directory(columns: &Columns<'_>) -> Result<Row, Error> {
    Ok(Row::Directory { key: columns.get(0)?, value: blob(columns, 1)? })
}

fn blob(columns: &Columns<'_>, at: usize) -> Result<Bytes, Error> {
    Ok(columns.get::<_, Vec<u8>>(at)?.into())
}

/// A file that rows are written to. What was written before a move was cut off is passed over.
pub(super) struct Target {
    connection: Connection,
    /// Rows that are in the file already.
    applied: u64,
    seen: u64,
    chunk: Vec<Row>,
    size_bytes: usize,
}

const MARK: &str = "transfer";

// === impl Target ===

impl Target {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        // Makes the tables, private to its user.
        drop(crate::embedded::Embedded::open(path)?);
        let connection = connect(path)?;
        let mark = "SELECT value FROM meta WHERE name = ?1";
        let applied = connection.query_row(mark, [MARK], |row| row.get(0)).optional()?.unwrap_or_default();
        Ok(Self { connection, applied, seen: 0, chunk: Vec::new(), size_bytes: 0 })
    }

    pub(super) fn apply(&mut self, row: Row) -> Result<(), Error> {
        self.seen += 1;
        if self.seen <= self.applied {
            return Ok(());
        }
        self.size_bytes += row.size_bytes();
        self.chunk.push(row);
        if self.chunk.len() >= CHUNK_ROWS || self.size_bytes >= CHUNK_BYTES { self.write() } else { Ok(()) }
    }

    /// Without the mark, and with everything in the one file.
    pub(super) fn finish(mut self) -> Result<(), Error> {
        self.write()?;
        self.connection.execute("DELETE FROM meta WHERE name = ?1", [MARK])?;
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        self.connection.pragma_update(None, "journal_mode", "delete")?;
        Ok(())
    }

    /// The rows and the mark in one transaction.
    fn write(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.chunk);
        self.size_bytes = 0;
        let transaction = self.connection.transaction()?;
        for row in &rows {
            write_row(&transaction, row)?;
        }
        let mark = "INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
        run(&transaction, mark, params![MARK, self.seen])?;
        transaction.commit()?;
        Ok(())
    }
}

fn write_row(transaction: &Transaction<'_>, row: &Row) -> Result<(), Error> {
    match row {
        Row::Record { tenant, kind, id, alias, version, value } => run(
            transaction,
            "INSERT INTO records (tenant, kind, id, alias, version, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![tenant.as_str(), kind, id, alias, version, &value[..]],
        ),
        Row::Stream { tenant, emitter, name, last } => run(
            transaction,
            "INSERT INTO streams (tenant, emitter, name, count, last) VALUES (?1, ?2, ?3, 0, ?4)",
            params![tenant.as_str(), emitter, name, last.packed()],
        ),
        Row::Entry { tenant, emitter, stream, id, value } => {
            let of = "UPDATE streams SET count = count + 1 WHERE tenant = ?1 AND emitter = ?2 AND name = ?3 \
                      RETURNING stream";
            let mut statement = transaction.prepare_cached(of)?;
            let stream: i64 = statement.query_row(params![tenant.as_str(), emitter, stream], |row| row.get(0))?;
            let insert = "INSERT INTO entries (stream, id, value) VALUES (?1, ?2, ?3)";
            run(transaction, insert, params![stream, id.packed(), &value[..]])
        }
        Row::Value { tenant, scope, key, value } => {
            let size = "INSERT INTO scopes (tenant, name, size_bytes) VALUES (?1, ?2, ?3) \
                        ON CONFLICT DO UPDATE SET size_bytes = size_bytes + excluded.size_bytes RETURNING scope";
            let bytes = (key.len() + value.len()) as u64;
            let mut statement = transaction.prepare_cached(size)?;
            let scope: i64 = statement.query_row(params![tenant.as_str(), scope, bytes], |row| row.get(0))?;
            let insert = "INSERT INTO state (scope, key, value) VALUES (?1, ?2, ?3)";
            run(transaction, insert, params![scope, key, &value[..]])
        }
        Row::Counter { tenant, name, value, expires_ms } => run(
            transaction,
            "INSERT INTO counters (tenant, name, value, expires_ms) VALUES (?1, ?2, ?3, ?4)",
            params![tenant.as_str(), name, value, expires_ms],
        ),
        Row::Job { tenant, lane, due_ms, attempt, entry, payload } => run(
            transaction,
            "INSERT INTO jobs (tenant, lane, due_ms, attempt, entry, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![tenant.as_str(), lane, due_ms, attempt, entry.map(EntryId::packed), &payload[..]],
        ),
        Row::Timer { tenant, timer, due_ms, schedule } => run(
            transaction,
            "INSERT INTO timers (tenant, timer, due_ms, schedule) VALUES (?1, ?2, ?3, ?4)",
            params![tenant.as_str(), timer, due_ms, &schedule[..]],
        ),
        Row::Directory { key, value } => {
            run(transaction, "INSERT INTO directory (key, value) VALUES (?1, ?2)", params![key, &value[..]])
        }
    }
}

fn run(transaction: &Transaction<'_>, statement: &str, values: impl Params) -> Result<(), Error> {
    transaction.prepare_cached(statement)?.execute(values)?;
    Ok(())
}
