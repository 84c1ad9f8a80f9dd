//! The disk quota of images: a bound in all, and a lower one for each tenant.
//!
//! An image is counted for the tenant that had it made. One that holds more than its share makes room by its own images, so
//! that a tenant with many of them does not push out those of the others.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use admission::Share;

use super::{Owner, UNFINISHED, owner_of_file};

/// A source that runs once a month finds its image.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(40 * 86_400);

pub(crate) struct DiskQuota {
    folder: Option<PathBuf>,
    bytes: Share,
    held: Mutex<HashMap<PathBuf, StoredImage>>,
}

#[derive(Clone, Copy)]
struct StoredImage {
    owner: Owner,
    /// What it takes: holes take nothing.
    bytes: u64,
}

/// An image that may have to go.
struct Candidate {
    path: PathBuf,
    held: StoredImage,
    used_at: SystemTime,
}

// === impl DiskQuota ===

impl DiskQuota {
    /// Counts what is there, and removes what is of no use: files of other versions, and images whose components were deleted
    /// elsewhere or while no server ran, which are those that were not used for long.
    pub(crate) fn new(folder: Option<PathBuf>, bytes: Share) -> Self {
        let entries = folder.as_ref().and_then(|folder| fs::read_dir(folder).ok());
        let found = entries.into_iter().flatten().filter_map(|entry| {
            let path = entry.ok()?.path();
            let Some(owner) = owner_of_file(&path).filter(|_| !is_forgotten(&path)) else {
                let _ = fs::remove_file(&path);
                return None;
            };
            Some((path.clone(), StoredImage { owner, bytes: taken(&path)? }))
        });
        let held = Mutex::new(found.collect());
        Self { folder, bytes, held }
    }

    /// An image was written.
    pub(crate) fn add(&self, path: &Path, owner: Owner) {
        if path.parent() == self.folder.as_deref()
            && let Some(bytes) = taken(path)
        {
            self.held().insert(path.to_owned(), StoredImage { owner, bytes });
        }
    }

    pub(crate) fn remove(&self, path: &Path) {
        self.held().remove(path);
    }

    /// Removes images until there is room for one more of this tenant: of its own, of others that hold more than their
    /// share, and then of all; the least recently used first.
    pub(crate) fn make_room(&self, owner: Owner, bytes: u64) {
        let mut held = self.held();
        let mut used = Used::of(held.values());
        let (own, all) = (used.by(owner).saturating_add(bytes), used.total.saturating_add(bytes));
        if own <= self.bytes.per_tenant && all <= self.bytes.total {
            return;
        }
        let candidate = |(path, held): (&PathBuf, &StoredImage)| {
            let used_at = fs::metadata(path).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            Candidate { path: path.clone(), held: *held, used_at }
        };
        let mut candidates: Vec<Candidate> = held.iter().map(candidate).collect();
        candidates.sort_by_key(|candidate| candidate.used_at);
        let each = self.bytes.per_tenant;
        let mut remove = |used: &mut Used, goes: &dyn Fn(&Used, Owner) -> bool| {
            candidates.retain(|Candidate { path, held: image, .. }| {
                let stays = !goes(used, image.owner) || !is_removed(path);
                if !stays {
                    used.remove(*image);
                    held.remove(path);
                }
                stays
            });
        };
        if own > each {
            remove(&mut used, &|used, of| of == owner && used.by(owner) > room_for(bytes, each));
        }
        if used.total.saturating_add(bytes) > self.bytes.total {
            let wanted = room_for(bytes, self.bytes.total);
            remove(&mut used, &|used, of| used.by(of) > each && used.total > wanted);
            remove(&mut used, &|used, _| used.total > wanted);
        }
    }

    /// How many images there are, and what they take.
    pub(crate) fn used(&self) -> (u64, u64) {
        let held = self.held();
        (held.len() as u64, held.values().map(|image| image.bytes).sum())
    }

    fn held(&self) -> MutexGuard<'_, HashMap<PathBuf, StoredImage>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tenth more than is needed, so that not every image has to look through the folder.
fn room_for(bytes: u64, limit: u64) -> u64 {
    (limit - limit / 10).saturating_sub(bytes)
}

/// One that is gone already takes no room either.
fn is_removed(path: &Path) -> bool {
    fs::remove_file(path).map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |()| true)
}

/// Whether nothing has used the file for so long that most likely nothing will; if something does, it is made again.
fn is_forgotten(path: &Path) -> bool {
    let used_at = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    used_at.and_then(|used_at| used_at.elapsed().ok()).is_some_and(|unused_for| unused_for > FORGOTTEN_AFTER)
}

fn taken(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some(metadata.blocks() * 512)
}

/// Bytes, of all and of each tenant.
#[derive(Default)]
struct Used {
    total: u64,
    by_owner: HashMap<Owner, u64>,
}

// === impl Used ===

impl Used {
    fn of<'a>(held: impl Iterator<Item = &'a StoredImage>) -> Self {
        let mut used = Self::default();
        for StoredImage { owner, bytes } in held {
            used.total += bytes;
            *used.by_owner.entry(*owner).or_default() += bytes;
        }
        used
    }

    fn by(&self, owner: Owner) -> u64 {
        self.by_owner.get(&owner).copied().unwrap_or(0)
    }

    fn remove(&mut self, held: StoredImage) {
        self.total -= held.bytes;
        if let Some(bytes) = self.by_owner.get_mut(&held.owner) {
            *bytes -= held.bytes;
        }
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
