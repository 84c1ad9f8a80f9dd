//! The tables, how they came to be, and how a connection is set up.
//!
//! `user_version` counts the steps of [`STEPS`] that were taken. A step is never edited once it was
//! released; a change is a new step.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::{Error, PARTITIONS};

const STEPS: &[&str] =
    &[include_str!("schema.sql"), include_str!("schema/blocks.sql"), include_str!("schema/row_numbers.sql")];
const STEPS_WITH_BLOCKS: usize = 2;

/// Pages the writer holds, in KiB, when they are used at all: what a burst of commits touches is not read again. Not more,
/// because SQLite looks through all of them at nearly every commit: to swap two pages of a tree it gives one a number past
/// 1 GB for a moment, and at the end drops what lies beyond the file. With 16 MB that was a tenth of the writer's time.
const WRITER_CACHE_KIB: i64 = 4 * 1024;
/// Pages that a group may change before some are written to the log while it is not whole.
const CHANGED_PAGES: i64 = 4096;
/// Every distinct statement fits; none is ever prepared twice.
const CACHED_STATEMENTS: usize = 128;

/// Facts about the file, read when it is opened.
pub(super) struct Opened {
    pub(super) partitions: u16,
    /// Counts openings, so that lease tokens of an earlier life never match.
    pub(super) epoch: u64,
}

/// The one connection that writes: creates or upgrades the tables.
pub(super) fn open_writer(path: &Path) -> Result<(Connection, Opened), Error> {
    let mut connection = Connection::open(path)?;
    // First of all: what a newer version wrote is left as it is, down to the byte.
    steps_taken(&connection)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "cache_spill", CHANGED_PAGES)?;
    keep_statements(&connection)?;
    migrate(&mut connection)?;
    let opened = note_opening(&connection)?;
    Ok((connection, opened))
}

/// For a file of this version or an older one that nothing else has open.
pub(super) fn open_plain(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    steps_taken(&connection)?;
    keep_statements(&connection)?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// Statements are compiled once. Without the stability guarantee SQLite compiles one anew whenever a bound `LIMIT` or
/// `OFFSET` changes, in the hope of a better plan; there is only one for each of ours.
fn keep_statements(connection: &Connection) -> Result<(), Error> {
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// How many steps this version knows.
pub(super) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Whether several entries may be in a row: not in a file that only an older version has opened.
pub(super) fn has_blocks(connection: &Connection) -> Result<bool, Error> {
    Ok(steps_taken(connection)? >= STEPS_WITH_BLOCKS)
}

fn steps_taken(connection: &Connection) -> Result<usize, Error> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = known();
    if found > known {
        return Err(Error::NewerSchema { found, known });
    }
    Ok(usize::try_from(found).unwrap_or_default())
}

fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let taken = steps_taken(connection)?;
    if (1..STEPS.len()).contains(&taken) {
        tracing::info!(
            "the store is of an older version: its events and values are copied once, which may take a while"
        );
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in STEPS.iter().skip(taken) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known())?;
    transaction.commit()?;
    Ok(())
}

fn note_opening(connection: &Connection) -> Result<Opened, Error> {
    connection
        .execute("INSERT INTO meta (name, value) VALUES ('partitions', ?1) ON CONFLICT DO NOTHING", [PARTITIONS])?;
    let partitions = connection.query_row("SELECT value FROM meta WHERE name = 'partitions'", [], |row| row.get(0))?;
    let epoch: i64 = connection.query_row(
        "INSERT INTO meta (name, value) VALUES ('epoch', 1)
         ON CONFLICT DO UPDATE SET value = value + 1 RETURNING value",
        [],
        |row| row.get(0),
    )?;
    Ok(Opened { partitions, epoch: u64::try_from(epoch).unwrap_or_default() })
}
