//! A disk without room: the store opens and is read, and writes nothing until there is room again.
//!
//! Even to read a database SQLite needs some pages on the disk, for its index of the log. A file keeps them; it is given up
//! when the store is opened on a full disk, and made again when there is room.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Error;

/// For the index of the log, and the few pages that are written when the store is opened.
const RESERVE_BYTES: usize = 1 << 20;
/// What has to be free before anything is written again: a large group of commits, and the reserve.
const ROOM_BYTES: u64 = 16 << 20;

pub(super) struct Disk {
    reserve: PathBuf,
    /// Nothing is written while there is less room than [`ROOM_BYTES`].
    is_full: bool,
    available: fn(&Path) -> Option<u64>,
}

// === impl Disk ===

impl Disk {
    /// That of the store in this file.
    pub(super) fn new(path: &Path) -> Self {
        let mut reserve = path.as_os_str().to_owned();
        reserve.push(".reserve");
        Self { reserve: reserve.into(), is_full: false, available }
    }

    #[cfg(test)]
    pub(super) fn with_available(mut self, available: fn(&Path) -> Option<u64>) -> Self {
        self.available = available;
        self
    }

    /// Opens the store, on a full disk with what was kept free for it.
    pub(super) fn open<Opened>(&mut self, open: impl Fn() -> Result<Opened, Error>) -> Result<Opened, Error> {
        let opened = match open() {
            Err(Error::DiskFull(_)) if fs::remove_file(&self.reserve).is_ok() => {
                self.fill();
                open()
            }
            opened => opened,
        }?;
        if !self.is_full {
            self.keep_reserve();
        }
        Ok(opened)
    }

    /// Whether there is any use in writing. Costs nothing while the disk was never full.
    pub(super) fn may_write(&mut self) -> bool {
        if !self.is_full {
            return true;
        }
        // What cannot be asked is tried.
        if (self.available)(&self.reserve).is_some_and(|bytes| bytes < ROOM_BYTES) {
            return false;
        }
        tracing::info!("there is room on the disk again: the store is written");
        self.is_full = false;
        self.keep_reserve();
        true
    }

    /// A write found no room.
    pub(super) fn fill(&mut self) {
        if !self.is_full {
            tracing::error!("the disk of the data folder is full: the store is read-only until there is room");
        }
        self.is_full = true;
    }

    /// Best effort: without it, a start on a full disk fails and says so.
    fn keep_reserve(&self) {
        if fs::metadata(&self.reserve).is_ok_and(|file| file.len() >= RESERVE_BYTES as u64) {
            return;
        }
        let write = || File::create(&self.reserve)?.write_all(&vec![0; RESERVE_BYTES]);
        if write().is_err() {
            let _ = fs::remove_file(&self.reserve);
        }
    }
}

/// What is free for this process where the file is.
fn available(file: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(file.parent()?).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
