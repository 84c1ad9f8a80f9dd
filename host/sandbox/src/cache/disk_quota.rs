//! The disk quota of images: the least recently used are removed.

use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::UNFINISHED;

pub(crate) struct DiskQuota {
    folder: Option<PathBuf>,
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

// === impl DiskQuota ===

impl DiskQuota {
    pub(crate) fn new(folder: Option<PathBuf>, limit_bytes: u64) -> Self {
        let quota = Self { folder, limit_bytes, used_bytes: AtomicU64::new(0) };
        quota.measure();
        quota
    }

    /// Counts the bytes of the files that exist.
    pub(crate) fn measure(&self) {
        self.used_bytes.store(self.files().iter().map(|file| file.bytes).sum(), Ordering::Relaxed);
    }

    /// Removes images until one more fits, least recently used first.
    pub(crate) fn make_room(&self, bytes: u64) {
        if self.used_bytes.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit_bytes {
            return;
        }
        let mut files = self.files();
        files.sort_by_key(|file| file.used_at);
        let mut used: u64 = files.iter().map(|file| file.bytes).sum();
        // A tenth more than is needed, so that not every image has to look through the folder.
        let wanted = (self.limit_bytes - self.limit_bytes / 10).saturating_sub(bytes);
        for file in files {
            if used <= wanted {
                break;
            }
            if fs::remove_file(&file.path).is_ok() {
                used -= file.bytes;
            }
        }
        self.used_bytes.store(used, Ordering::Relaxed);
    }

    fn files(&self) -> Vec<Kept> {
        let entries = self.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        entries.into_iter().flatten().filter_map(|entry| Kept::of(&entry.ok()?)).collect()
    }
}

struct Kept {
    path: PathBuf,
    /// What it takes: holes take nothing.
    bytes: u64,
    used_at: SystemTime,
}

impl Kept {
    fn of(entry: &DirEntry) -> Option<Self> {
        let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
        Some(Self { path: entry.path(), bytes: metadata.blocks() * 512, used_at: metadata.modified().ok()? })
    }
}

/// Removes what a process left that ended while it wrote. The folder is this process's own.
pub(super) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Versions before this one called them otherwise.
        if name.starts_with(UNFINISHED) || name.starts_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// On a file system in memory, reading a hole of a mapped file takes a page, and a process that gets none is killed: there
/// all of it is taken beforehand. Elsewhere holes cost nothing, and what is written is allocated when it is written.
pub(super) fn allocate(file: &File, bytes: usize) -> io::Result<()> {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    let kind = rustix::fs::fstatfs(file)?.f_type;
    if kind == TMPFS || kind == RAMFS {
        rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes as u64)?;
    }
    Ok(())
}
