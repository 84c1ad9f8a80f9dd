//! Backups of a store: made while a server runs, and restored while none does.

use std::fs::{self, File};
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{lock, schema};
use crate::Error;

/// What can be said about a store without opening it for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Whether a process has it open.
    pub is_in_use: bool,
    pub schema: i64,
    pub known_schema: i64,
    /// What SQLite finds wrong with the file; empty when it is sound.
    pub damage: Vec<String>,
}

/// Writes a snapshot of the store into one file. A server may run meanwhile: a reader of the write-ahead log blocks
/// neither readers nor the writer. The file gets its name only once it is complete.
pub fn back_up(store: &Path, target: &Path) -> Result<(), Error> {
    let source = schema::open_reader(store)?;
    let unfinished = target.with_added_extension("unfinished");
    let folder = |source| Error::Folder { path: target.into(), source };
    create_private(&unfinished).map_err(folder)?;
    let copied = copy(&source, &mut Connection::open(&unfinished)?);
    let moved = copied.and_then(|()| {
        fs::rename(&unfinished, target).map_err(folder)?;
        // The name is on disk when its folder is.
        target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .map_or(Ok(()), |parent| File::open(parent).and_then(|parent| parent.sync_all()).map_err(folder))
    });
    if moved.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    moved
}

/// Puts a copy in the place of the store, in one transaction: a crash leaves the one or the other. Refused while a
/// process has the store open, and for a file that is no sound store of a known version.
pub fn restore(from: &Path, store: &Path) -> Result<(), Error> {
    let _lock = lock(store)?;
    let source = open_sound(from)?;
    let mut target = Connection::open(store)?;
    target.pragma_update(None, "synchronous", "full")?;
    run_to_end(&source, &mut target)?;
    target.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// Puts everything of the log into the file, which then stands for itself also under another name. Other processes may read
/// it meanwhile, and none may write.
pub fn fold(store: &Path) -> Result<(), Error> {
    let connection = schema::open_plain(store)?;
    let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if is_busy { Err(Error::InUse { path: store.into() }) } else { Ok(()) }
}

/// Whether a file can be put back: a sound store of a known version.
pub fn verify(copy: &Path) -> Result<(), Error> {
    open_sound(copy).map(drop)
}

/// Whether a process has the store open.
pub fn is_in_use(store: &Path) -> Result<bool, Error> {
    match lock(store) {
        Ok(_) => Ok(false),
        Err(Error::InUse { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

pub fn inspect(store: &Path) -> Result<Inspection, Error> {
    let is_in_use = is_in_use(store)?;
    let connection = schema::open_reader(store)?;
    let mut statement = connection.prepare("PRAGMA quick_check(10)")?;
    let found: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Inspection {
        is_in_use,
        schema: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
        known_schema: schema::known(),
        damage: found.into_iter().filter(|line| line != "ok").collect(),
    })
}

fn open_sound(path: &Path) -> Result<Connection, Error> {
    let copy = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: i64 = copy.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = schema::known();
    if found > known {
        return Err(Error::NewerSchema { found, known });
    }
    let verdict: String = copy.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    let is_store: bool =
        copy.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'meta')", [], |row| row.get(0))?;
    if found < 1 || verdict != "ok" || !is_store {
        return Err(Error::NotAStore { path: path.into() });
    }
    Ok(copy)
}

fn copy(source: &Connection, target: &mut Connection) -> Result<(), Error> {
    target.pragma_update(None, "synchronous", "full")?;
    run_to_end(source, target)?;
    // One file, without a log beside it.
    target.pragma_update(None, "journal_mode", "delete")?;
    Ok(())
}

fn run_to_end(source: &Connection, target: &mut Connection) -> Result<(), Error> {
    // All pages in one step: a read transaction of the source, a write transaction of the target.
    match Backup::new(source, target)?.step(-1)? {
        StepResult::Done => Ok(()),
        _ => Err(Error::Closed),
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create(true).truncate(true).open(path)
}

#[cfg(test)]
mod tests;
