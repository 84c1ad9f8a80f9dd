//! Folds the log of the database into it beside the writer, so that no commit waits for it.
//!
//! Left to itself SQLite folds the log at a commit once it has grown, and under load everything waits several times a second
//! while megabytes are written. Here a thread with a connection of its own does it. Only the writer can begin the log anew,
//! when all of it is folded: it folds what came meanwhile, a few pages.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::schema;
use crate::Error;

/// In pages of the log, of four kilobytes.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Fewer and larger foldings: what changes often is folded once.
    pub(super) fold_at: c_int,
    /// So much the writer folds itself, in a millisecond or two.
    pub(super) left_to_writer: c_int,
    /// Here it folds all of it: the log grew faster than it was folded.
    pub(super) at_most: c_int,
}

pub(super) const BOUNDS: Bounds = Bounds { fold_at: 4000, left_to_writer: 400, at_most: 16_000 };

/// Nothing is being folded.
const IDLE: c_int = -1;
const UNDER_WAY: c_int = -2;

/// What the writer and the thread tell each other: [`IDLE`], [`UNDER_WAY`], or how many pages of the log were folded.
type Progress = Arc<AtomicI32>;

/// Looks at the log after each commit.
struct Watch {
    bounds: Bounds,
    progress: Progress,
    ask: SyncSender<()>,
}

/// From now on the log of this connection is folded by the thread that is returned, which ends after the connection. It gives its own
/// back, to be closed last: of two that are closed at once, neither takes the log away.
pub(super) fn start(path: &Path, writer: &mut Connection, bounds: Bounds) -> Result<JoinHandle<Connection>, Error> {
    let connection = schema::open_plain(path)?;
    let (asked, progress) = watch(writer, bounds)?;
    std::thread::Builder::new()
        .name("store-folding".into())
        .spawn(move || {
            fold_when_asked(&connection, &asked, &progress);
            connection
        })
        .map_err(|source| Error::Folder { path: path.into(), source })
}

/// Has the log of this connection looked at, which asks for what is to be folded.
fn watch(writer: &mut Connection, bounds: Bounds) -> Result<(Receiver<()>, Progress), rusqlite::Error> {
    let (ask, asked) = sync_channel(1);
    let progress = Progress::new(AtomicI32::new(IDLE));
    let watch = Watch { bounds, progress: progress.clone(), ask };
    writer.wal_hook(Some(move |log: &mut Wal, pages| {
        watch.look(log, pages);
        Ok(())
    }))?;
    Ok((asked, progress))
}

impl Watch {
    fn look(&self, log: &mut Wal, pages: c_int) {
        let Bounds { fold_at, left_to_writer, at_most } = self.bounds;
        match self.progress.load(Ordering::Acquire) {
            UNDER_WAY => {}
            IDLE if pages < fold_at => {}
            folded if folded != IDLE && (pages - folded <= left_to_writer || pages >= at_most) => {
                if let Err(error) = log.checkpoint() {
                    tracing::warn!(%error, "the rest of the store's log could not be folded");
                }
                self.progress.store(IDLE, Ordering::Release);
            }
            _ => {
                self.progress.store(UNDER_WAY, Ordering::Release);
                // The thread lives as long as the connection, and is asked for one thing at a time.
                let _ = self.ask.try_send(());
            }
        }
    }
}

fn fold_when_asked(connection: &Connection, asked: &Receiver<()>, progress: &Progress) {
    for () in asked {
        let folded = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(2));
        let pages = folded.unwrap_or_else(|error| {
            tracing::warn!(%error, "the store's log could not be folded");
            0
        });
        progress.store(pages.max(0), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::sync_channel;

    use rusqlite::Connection;

    use super::{Bounds, IDLE, UNDER_WAY, fold_when_asked, watch};

    const SMALL: Bounds = Bounds { fold_at: 8, left_to_writer: 4, at_most: 64 };

    /// A database with a log, and a table of texts of a page each.
    fn database(folder: &tempfile::TempDir) -> Connection {
        let connection = Connection::open(folder.path().join("store.db")).unwrap();
        connection.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE texts (text TEXT)").unwrap();
        connection
    }

    fn write(connection: &Connection) {
        connection.execute("INSERT INTO texts VALUES (?1)", ["x".repeat(3000)]).unwrap();
    }

    /// Pages in the log, and how many of them are folded. Looking at it folds nothing.
    fn pages(connection: &Connection) -> (i32, i32) {
        connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
    }

    #[test]
    fn the_thread_folds_most_and_the_writer_the_rest_and_the_log_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, other) = (database(&folder), Connection::open(folder.path().join("store.db")).unwrap());
        let (asked, progress) = watch(&mut writer, SMALL).unwrap();
        while progress.load(Ordering::Acquire) == IDLE {
            write(&writer);
        }
        let (in_log, folded) = pages(&other);
        assert!(in_log >= SMALL.fold_at && folded == 0, "a commit folds nothing: {folded} of {in_log}");

        // A turn of the thread.
        let (again, turns) = sync_channel(1);
        asked.recv().unwrap();
        again.send(()).unwrap();
        drop(again);
        write(&writer);
        assert_eq!(progress.load(Ordering::Acquire), UNDER_WAY, "one at a time");
        fold_when_asked(&other, &turns, &progress);
        let (in_log, folded) = pages(&other);
        assert_eq!(folded, in_log, "commits go on while it folds");

        write(&writer);
        assert_eq!(progress.load(Ordering::Acquire), IDLE, "the writer folded the rest");
        write(&writer);
        assert!(pages(&other).0 < SMALL.fold_at, "and the log began anew");
    }

    #[test]
    fn a_log_that_grows_faster_than_it_is_folded_is_folded_by_the_writer() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = database(&folder);
        let (asked, progress) = watch(&mut writer, SMALL).unwrap();

        for _ in 0..2 * SMALL.at_most {
            write(&writer);
            // A thread that is always far behind.
            if asked.try_recv().is_ok() {
                progress.store(0, Ordering::Release);
            }
        }

        assert!(pages(&writer).0 <= SMALL.at_most + 8, "{:?}", pages(&writer));
    }
}
