//! Snapshots on disk, named by what they were made of.
//!
//! The base image is mapped from its file. Images of components are packed (`packed.rs`), and unpacked into memory when they
//! are used.
//!
//! Files are written beside their name and renamed, so a reader sees a whole file or none. Each ends in a hash keyed with a
//! secret of the server, which is checked whenever the file is opened: one that does not match is made again. The time of
//! modification is that of the last use; when images take more room than they may, the least recently used go (`disk_quota.rs`).

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ::engine::RESERVED_BYTES;
use admission::Share;

use crate::region::MACHINE_PAGE_BYTES;

use crate::snapshot::{self, Snapshot};

mod buffers;
mod disk_quota;
mod lent;
mod lz4;
mod packed;

use buffers::{Buffers, Pair};
use disk_quota::DiskQuota;

/// Follows the content of a file, then whose it is and its hash.
const TRAILER_MAGIC: &[u8; 8] = b"wellspr\x05";
const OWNER_BYTES: usize = 8;
const HASH_BYTES: usize = 32;
const TRAILER_BYTES: usize = TRAILER_MAGIC.len() + OWNER_BYTES + HASH_BYTES;
/// How names of files begin that are not whole yet.
const UNFINISHED: &str = ".unfinished-";

const BASE: &str = "base";
const IMAGES: &str = "images";

/// The tenant that had a file made. It only decides which images go first, so it is not part of what is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Owner([u8; OWNER_BYTES]);

/// A folder of such files, or nothing at all. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
    key: [u8; 32],
    disk_quota: Arc<DiskQuota>,
    buffers: Arc<Buffers>,
}

/// A snapshot that can be used, and kept once it has proven itself.
pub(crate) struct Draft {
    pub(crate) snapshot: Arc<Snapshot>,
    /// With the name it will have.
    file: Option<(tempfile::NamedTempFile, PathBuf)>,
    owner: Owner,
    disk_quota: Arc<DiskQuota>,
}

// === impl Cache ===

impl Cache {
    /// `key` is known to this server alone; `image_bytes` is the room for images. A folder that cannot be written is not
    /// used: everything is then made again at the next start.
    pub(crate) fn new(folder: Option<PathBuf>, key: [u8; 32], image_bytes: Share) -> Self {
        let folder = folder.filter(|folder| {
            let usable = fs::create_dir_all(folder.join(IMAGES)).and_then(|()| unfinished(folder));
            usable.inspect_err(|error| warn(folder, error)).is_ok()
        });
        if let Some(folder) = &folder {
            for kind in [IMAGES, BASE] {
                disk_quota::sweep(&folder.join(kind));
            }
            // Earlier versions kept there what they had compiled.
            let _ = fs::remove_dir_all(folder.join("engine"));
        }
        let disk_quota = Arc::new(DiskQuota::new(folder.as_ref().map(|folder| folder.join(IMAGES)), image_bytes));
        Self { folder, key, disk_quota, buffers: Arc::default() }
    }

    /// The secret of the server.
    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// The base image under this name, if a whole file of it is there.
    pub(crate) fn find_base(&self, key: &[u8; 32]) -> Option<Arc<Snapshot>> {
        let path = self.path(BASE, key)?;
        let mut file = File::open(&path).ok()?;
        let (length, hash) = trailer(&mut file).ok().flatten()?;
        let snapshot = Snapshot::map(file, length).ok()?;
        let is_whole = self.hash(snapshot.bytes()) == hash;
        if !is_whole {
            tracing::warn!(path = %path.display(), "the base image is damaged and is made again");
        }
        is_whole.then_some(snapshot)
    }

    /// Keeps the base image and returns it mapped from its file.
    pub(crate) fn keep_base(&self, key: &[u8; 32], memory: &[u8]) -> io::Result<Arc<Snapshot>> {
        let Some(path) = self.path(BASE, key) else { return Snapshot::unnamed(memory) };
        let hash = self.hash(memory);
        let file = self.write(&path, Owner::default(), &hash, |file| {
            disk_quota::allocate(file, memory.len() + TRAILER_BYTES)?;
            snapshot::write(file, 0, memory)?;
            file.set_len(memory.len() as u64)
        })?;
        let snapshot = Snapshot::map(file.as_file().try_clone()?, memory.len())?;
        if let Err(error) = persist(file, &path) {
            warn(&path, &error);
        }
        Ok(snapshot)
    }

    /// The image under this name, unpacked, if a whole file of it is there that was made over this base. It takes
    /// milliseconds.
    pub(crate) fn find_image(&self, key: &[u8; 32], base: &Snapshot) -> Option<Arc<Snapshot>> {
        let path = self.path(IMAGES, key)?;
        let file = File::open(&path).ok()?;
        let found = self.read_image(&file, base).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "an image cannot be read and is made again");
            None
        })?;
        touch(&file);
        Some(found)
    }

    fn read_image(&self, file: &File, base: &Snapshot) -> io::Result<Option<Arc<Snapshot>>> {
        let mut pair = self.buffers.take();
        let found = self.read_image_with(file, base, &mut pair);
        self.buffers.put_back(pair);
        found
    }

    fn read_image_with(&self, file: &File, base: &Snapshot, pair: &mut Pair) -> io::Result<Option<Arc<Snapshot>>> {
        let bytes = packed::read_all(file, &mut pair.packed)?;
        let Some((content, trailer)) = bytes.split_last_chunk::<TRAILER_BYTES>() else { return Ok(None) };
        let is_whole = hash_of_trailer(trailer) == Some(&self.hash_packed(content, base));
        if !is_whole {
            tracing::warn!("an image is damaged, or was made over another base, and is made again");
            return Ok(None);
        }
        packed::unpack(base.bytes(), content, RESERVED_BYTES, &mut pair.block).map(Some)
    }

    /// An image was used until now, in memory: it is not the next to go from the disk.
    pub(crate) fn note_use(&self, key: &[u8; 32]) {
        if let Some(file) = self.path(IMAGES, key).and_then(|path| File::open(path).ok()) {
            touch(&file);
        }
    }

    /// Memory as an image that is not kept yet. A file that cannot be written is an error: a component whose image has to
    /// be made again for every call that does not find it in memory is better refused when it is deployed.
    pub(crate) fn draft_image(
        &self,
        key: &[u8; 32],
        owner: Owner,
        base: &Snapshot,
        memory: &[u8],
    ) -> io::Result<Draft> {
        let disk_quota = self.disk_quota.clone();
        let snapshot = Snapshot::unnamed(memory)?;
        let Some(path) = self.path(IMAGES, key) else { return Ok(Draft { snapshot, file: None, owner, disk_quota }) };
        let packed = packed::pack(base.bytes(), memory)?;
        disk_quota.make_room(owner, (packed.len() + TRAILER_BYTES) as u64);
        let hash = self.hash_packed(&packed, base);
        let file = self.write(&path, owner, &hash, |file| file.write_all(&packed))?;
        Ok(Draft { snapshot, file: Some((file, path)), owner, disk_quota })
    }

    /// Removes the image under this name. Runs that have it mapped go on.
    pub(crate) fn remove_image(&self, key: &[u8; 32]) {
        if let Some(path) = self.path(IMAGES, key)
            && fs::remove_file(&path).is_ok()
        {
            self.disk_quota.remove(&path);
        }
    }

    /// How many images there are on disk, and what they take.
    pub(crate) fn images_used(&self) -> (u64, u64) {
        self.disk_quota.used()
    }

    /// Of all pages that are not empty, and of where they are: most of a large image is empty.
    fn hash(&self, content: &[u8]) -> [u8; HASH_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&(content.len() as u64).to_le_bytes());
        for (index, page) in content.chunks(MACHINE_PAGE_BYTES).enumerate() {
            if !snapshot::is_empty(page) {
                hasher.update(&(index as u64).to_le_bytes()).update(page);
            }
        }
        hasher.finalize().into()
    }

    /// Of an image as it is on disk, and of what it was packed over.
    fn hash_packed(&self, packed: &[u8], base: &Snapshot) -> [u8; HASH_BYTES] {
        blake3::Hasher::new_keyed(&self.key).update(base.digest()).update(packed).finalize().into()
    }

    /// A whole file that has no name yet, and is gone when it gets none. The trailer is put where the content ends.
    fn write(
        &self,
        path: &Path,
        owner: Owner,
        hash: &[u8; HASH_BYTES],
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<tempfile::NamedTempFile> {
        let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        write(file.as_file_mut())?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(TRAILER_MAGIC)?;
        file.write_all(&owner.0)?;
        file.write_all(hash)?;
        Ok(file)
    }

    fn path(&self, kind: &'static str, key: &[u8; 32]) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(kind).join(hex::encode(key)))
    }
}

// === impl Owner ===

impl Owner {
    pub(crate) fn of(tenant: &str) -> Self {
        let mut owner = [0; OWNER_BYTES];
        blake3::Hasher::new().update(tenant.as_bytes()).finalize_xof().fill(&mut owner);
        Self(owner)
    }
}

// === impl Draft ===

impl Draft {
    pub(crate) fn keep(self) -> Arc<Snapshot> {
        if let Some((file, path)) = self.file {
            match persist(file, &path) {
                Ok(()) => self.disk_quota.add(&path, self.owner),
                Err(error) => warn(&path, &error),
            }
        }
        self.snapshot
    }
}

/// Whether a file can be made in a folder.
fn unfinished(folder: &Path) -> io::Result<()> {
    tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder).map(drop)
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Best effort: it only makes the image look unused.
#[expect(clippy::disallowed_methods, reason = "the age of a file on disk, by which the cache evicts")]
fn touch(file: &File) {
    let _ = file.set_modified(SystemTime::now());
}

/// A file that cannot be kept costs the next start some time and nothing else.
fn warn(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "a file could not be kept; it will be made again");
}

/// The length of the content and its hash. Leaves the file rewound.
fn trailer(file: &mut File) -> io::Result<Option<(usize, [u8; HASH_BYTES])>> {
    let Ok(length) = file.seek(SeekFrom::End(-(TRAILER_BYTES as i64))) else { return Ok(None) };
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact(&mut trailer)?;
    file.rewind()?;
    Ok(hash_of_trailer(&trailer).map(|hash| (length as usize, *hash)))
}

fn hash_of_trailer(trailer: &[u8; TRAILER_BYTES]) -> Option<&[u8; HASH_BYTES]> {
    let (magic, rest) = trailer.split_first_chunk::<{ TRAILER_MAGIC.len() }>()?;
    rest.last_chunk::<HASH_BYTES>().filter(|_| magic == TRAILER_MAGIC)
}

/// Whose file it is, if it is one that was written whole.
fn owner_of_file(path: &Path) -> Option<Owner> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::End(-(TRAILER_BYTES as i64))).ok()?;
    let mut head = [0; TRAILER_MAGIC.len() + OWNER_BYTES];
    file.read_exact(&mut head).ok()?;
    let (magic, owner) = head.split_first_chunk::<8>()?;
    (magic == TRAILER_MAGIC).then(|| owner.try_into().ok().map(Owner)).flatten()
}

#[cfg(test)]
mod tests;
