//! A few reading connections, opened when first needed, each used by one read at a time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::schema;
use crate::Error;

/// Reads at the same time. They are short and mostly from the page cache.
const READERS: usize = 8;

pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    free: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.into(), idle: Mutex::default(), free: Arc::new(Semaphore::new(READERS)) }
    }

    /// Opens what is not open yet: the file may get another name.
    pub(super) fn open_all(&self) -> Result<(), Error> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while idle.len() < READERS {
            let connection = schema::open_reader(&self.path)?;
            // The log beside the file is opened by the first read.
            read_one_snapshot(&connection, |reader| reader.pragma_query_value(None, "user_version", |_| Ok(())))?;
            idle.push(connection);
        }
        Ok(())
    }

    pub(super) async fn read<Found: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<Found, rusqlite::Error> + Send + 'static,
    ) -> Result<Found, Error> {
        let permit = Arc::clone(&self.free).acquire_owned().await.map_err(|_| Error::Closed)?;
        let readers = Arc::clone(self);
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let idle = readers.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = match idle {
                Some(connection) => connection,
                None => schema::open_reader(&readers.path)?,
            };
            let found = read_one_snapshot(&connection, read)?;
            readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(found)
        });
        task.await?
    }
}

/// Several statements of one read see the same state.
fn read_one_snapshot<Found>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<Found, rusqlite::Error>,
) -> Result<Found, rusqlite::Error> {
    let transaction = connection.unchecked_transaction()?;
    let found = read(&transaction)?;
    transaction.commit()?;
    Ok(found)
}
