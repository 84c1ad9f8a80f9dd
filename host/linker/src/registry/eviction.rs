//! Keeps a folder of files below a size: the ones that were not used for longest go first.
//!
//! The size is known after the first look and counted along from there; other processes may share the folder, so it is
//! looked at again whenever the count reaches the bound.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

/// After an eviction this share of the bound is left, in percent, so that not every write evicts.
const KEPT_PERCENT: u64 = 80;

#[derive(Debug)]
pub(crate) struct Bound {
    folder: PathBuf,
    limit_bytes: u64,
    /// None until the folder was looked at.
    used_bytes: Mutex<Option<u64>>,
}

struct Found {
    used_at: SystemTime,
    size_bytes: u64,
    path: PathBuf,
}

// === impl Bound ===

impl Bound {
    pub(crate) fn new(folder: PathBuf, limit_bytes: u64) -> Self {
        Self { folder, limit_bytes, used_bytes: Mutex::new(None) }
    }

    /// Called after a file was written.
    pub(crate) fn count(&self, written_bytes: u64) {
        let mut used = self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let total = used.map_or(u64::MAX, |used| used.saturating_add(written_bytes));
        *used = Some(if total > self.limit_bytes { self.evict() } else { total });
    }

    /// The bytes that are left. A file that cannot be removed stays, and counts.
    fn evict(&self) -> u64 {
        let mut files = Vec::new();
        // What cannot be listed cannot be removed; it is looked at again at the next write.
        let _ = list(&self.folder, &mut files);
        let mut total = files.iter().map(|file| file.size_bytes).sum::<u64>();
        if total <= self.limit_bytes {
            return total;
        }
        files.sort_by_key(|file| file.used_at);
        let kept_bytes = self.limit_bytes / 100 * KEPT_PERCENT;
        for file in files {
            if total <= kept_bytes {
                break;
            }
            if fs::remove_file(&file.path).is_ok() {
                total = total.saturating_sub(file.size_bytes);
            }
        }
        tracing::info!(left_bytes = total, "the package cache was full; what was not used for longest was removed");
        total
    }
}

/// Every file below a folder.
fn list(folder: &Path, files: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Gone meanwhile: another process evicts as well.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            list(&entry.path(), files)?;
            continue;
        }
        let used_at = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        files.push(Found { used_at, size_bytes: metadata.len(), path: entry.path() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn write(folder: &Path, name: &str, size: usize, age_seconds: u64) {
        let path = folder.join("ab").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, vec![0; size]).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age_seconds)).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut files = Vec::new();
        list(folder, &mut files).unwrap();
        let mut names: Vec<_> =
            files.iter().map(|file| file.path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn at_the_bound_everything_stays_and_beyond_it_the_longest_unused_go() {
        let folder = tempfile::tempdir().unwrap();
        let bound = Bound::new(folder.path().to_owned(), 1000);
        write(folder.path(), "old", 400, 300);
        write(folder.path(), "middle", 300, 200);
        write(folder.path(), "new", 300, 100);

        bound.count(300);
        assert_eq!(names(folder.path()), ["middle", "new", "old"], "exactly at the bound");

        write(folder.path(), "newest", 1, 0);
        bound.count(1);
        assert_eq!(names(folder.path()), ["middle", "new", "newest"]);
    }

    #[test]
    fn a_folder_that_others_filled_is_counted_at_the_first_write() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "from-before", 2000, 100);
        write(folder.path(), "mine", 10, 0);

        Bound::new(folder.path().to_owned(), 1000).count(10);

        assert_eq!(names(folder.path()), ["mine"]);
    }
}
