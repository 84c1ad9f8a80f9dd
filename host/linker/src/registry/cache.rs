//! What is kept on disk: packuments with their ETag, and unpacked packages under the digest of their
//! integrity. Losing any of it costs a download and nothing else, so failures to write are logged and
//! failures to read count as absence. Files appear whole or not at all, and those not used for longest go when there are too
//! many bytes of them.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{archive::Files, eviction::Bound};

/// Part of every key, so that a new format never reads an old file.
const FORMAT: &str = "1";

const DIGEST_BYTES: usize = 32;
const LENGTH_BYTES: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    bound: Arc<Bound>,
}

#[derive(Debug)]
pub(crate) struct CachedPackument {
    pub(crate) etag: String,
    pub(crate) body: Bytes,
    /// Since it was last known to be current.
    pub(crate) age: Duration,
}

#[derive(Serialize, Deserialize)]
struct Index {
    etag: String,
    /// Path and length, in the order of the contents.
    files: Vec<(String, usize)>,
}

/// Makes names of temporary files unique within the process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

// === impl Cache ===

impl Cache {
    pub(crate) fn new(folder: PathBuf, limit_bytes: u64) -> Self {
        let bound = Arc::new(Bound::new(folder.clone(), limit_bytes));
        Self { folder, bound }
    }

    #[expect(clippy::disallowed_methods, reason = "the age of a file on disk")]
    pub(crate) fn packument(&self, url: &str) -> Option<CachedPackument> {
        let path = self.path("packuments", url);
        let age = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
        // A clock that was set back makes everything look fresh; asking again is the safe side.
        let age = SystemTime::now().duration_since(age).unwrap_or(Duration::MAX);
        let (index, content) = read(&path)?;
        Some(CachedPackument { etag: index.etag, body: content, age })
    }

    pub(crate) fn keep_packument(&self, url: &str, etag: &str, body: &[u8]) {
        let index = Index { etag: etag.to_owned(), files: Vec::new() };
        self.write(&self.path("packuments", url), &index, &[body]);
    }

    /// What a package takes at most when it is read.
    pub(crate) fn package_bytes(&self, integrity: &str) -> Option<u64> {
        fs::metadata(self.path("packages", integrity)).map(|metadata| metadata.len()).ok()
    }

    pub(crate) fn package(&self, integrity: &str) -> Option<Files> {
        let path = self.path("packages", integrity);
        let (index, content) = read(&path)?;
        note_use(&path);
        let mut start = 0_usize;
        let mut files = Files::new();
        for (path, length) in index.files {
            let end = start.checked_add(length).filter(|end| *end <= content.len())?;
            files.insert(path, content.slice(start..end));
            start = end;
        }
        Some(files)
    }

    pub(crate) fn keep_package(&self, integrity: &str, files: &Files) {
        let lengths = files.iter().map(|(path, content)| (path.clone(), content.len())).collect();
        let index = Index { etag: String::new(), files: lengths };
        let contents: Vec<&[u8]> = files.values().map(AsRef::as_ref).collect();
        self.write(&self.path("packages", integrity), &index, &contents);
    }

    fn write(&self, path: &Path, index: &Index, contents: &[&[u8]]) {
        write(path, index, contents);
        self.bound.count(contents.iter().map(|content| content.len() as u64).sum());
    }

    fn path(&self, kind: &str, key: &str) -> PathBuf {
        let name = hex::encode(Sha256::digest(format!("{FORMAT}\n{key}")));
        let (prefix, rest) = name.split_at_checked(2).unwrap_or_default();
        self.folder.join(kind).join(prefix).join(rest)
    }
}

/// Sets a package's modification time, by which eviction finds the least recently used. Where it cannot be set, the package
/// is evicted sooner.
#[expect(clippy::disallowed_methods, reason = "the age of a file on disk")]
fn note_use(path: &Path) {
    let file = fs::File::options().append(true).open(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Digest of what follows, length of the index, index, contents.
fn write(path: &Path, index: &Index, contents: &[&[u8]]) {
    let attempt = || -> io::Result<()> {
        let index = serde_json::to_vec(index)?;
        let length = (index.len() as u64).to_le_bytes();
        let mut digest = Sha256::new();
        let parts = [&length[..], &index].into_iter().chain(contents.iter().copied());
        parts.clone().for_each(|part| digest.update(part));
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder)?;
        let unique = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".{}-{unique}", std::process::id()));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(&digest.finalize())?;
        parts.into_iter().try_for_each(|part| file.write_all(part))?;
        drop(file);
        fs::rename(&temporary, path).inspect_err(|_| drop(fs::remove_file(&temporary)))
    };
    if let Err(error) = attempt() {
        tracing::warn!(path = %path.display(), %error, "a package could not be kept in the cache");
    }
}

fn read(path: &Path) -> Option<(Index, Bytes)> {
    let bytes = Bytes::from(fs::read(path).ok()?);
    let (digest, rest) = bytes.split_at_checked(DIGEST_BYTES)?;
    if Sha256::digest(rest).as_slice() != digest {
        tracing::warn!(path = %path.display(), "a damaged file in the package cache is passed over");
        return None;
    }
    let (length, rest) = rest.split_at_checked(LENGTH_BYTES)?;
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (index, _) = rest.split_at_checked(length)?;
    let index = serde_json::from_slice(index).ok()?;
    Some((index, bytes.slice(DIGEST_BYTES + LENGTH_BYTES + length..)))
}

#[cfg(test)]
mod tests;
