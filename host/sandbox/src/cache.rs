//! Compiled code and snapshots on disk, named by what they were made of.
//!
//! Files are written beside their name and renamed, so a reader sees a whole file or none. Each ends in a checksum; one that
//! does not match is made again. The folder must be the server's own: whoever can write to it can run
//! code in the server.
//!
//! Summing up a large image takes longer than mapping it, so a file also carries its checksum as its time of modification.
//! Whoever writes to it afterwards changes that time; only a file that was touched is read in full.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wasmtime::{Engine, Module};

use crate::snapshot::{self, Snapshot};

/// Follows the content of a file. Code is an ELF object, whose readers do not mind what comes after.
const TRAILER_MAGIC: &[u8; 8] = b"wellspr\x01";
const TRAILER_BYTES: usize = TRAILER_MAGIC.len() + 4;

const CODE: &str = "engine";

/// A folder of such files, or nothing at all.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
}

/// A snapshot that can be used, and kept once it has proven itself.
pub(crate) struct Draft {
    pub(crate) snapshot: Arc<Snapshot>,
    /// With the name it will have.
    file: Option<(tempfile::NamedTempFile, PathBuf)>,
}

// === impl Cache ===

impl Cache {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The code under this name, if a whole file of it is there and it was compiled for this engine.
    pub(crate) fn find_code(&self, engine: &Engine, key: &[u8; 32]) -> Option<Module> {
        let path = self.path(CODE, key)?;
        let (file, _) = open(&path)?;
        #[expect(unsafe_code, reason = "the file is ours, and its checksum says it is what we wrote")]
        // SAFETY: as the reason says; who can write to the folder is trusted.
        let code = unsafe { Module::deserialize_open_file(engine, file) };
        code.inspect_err(|error| tracing::warn!(path = %path.display(), %error, "code does not fit and is made again"))
            .ok()
    }

    /// The file of the code under this name, as it was kept.
    pub(crate) fn open_code(&self, key: &[u8; 32]) -> Option<File> {
        open(&self.path(CODE, key)?).map(|(file, _)| file)
    }

    /// Keeps code and returns it mapped from its file, so that its pages are the page cache's and not ours.
    pub(crate) fn keep_code(&self, key: &[u8; 32], code: Module) -> Module {
        let (Some(path), Ok(bytes)) = (self.path(CODE, key), code.serialize()) else { return code };
        let written = write(&path, &bytes, |file| file.write_all(&bytes));
        let is_kept = written.and_then(|file| persist(file, &path)).map_err(|error| warn(&path, &error)).is_ok();
        is_kept.then(|| self.find_code(code.engine(), key)).flatten().unwrap_or(code)
    }

    /// The snapshot under this name, if a whole file of it is there.
    pub(crate) fn find_snapshot(&self, kind: &'static str, key: &[u8; 32]) -> Option<Arc<Snapshot>> {
        let path = self.path(kind, key)?;
        let (file, length) = open(&path)?;
        Snapshot::map(file, length)
            .inspect_err(
                |error| tracing::warn!(path = %path.display(), %error, "an image does not fit and is made again"),
            )
            .ok()
    }

    /// Memory as a snapshot that is not kept yet.
    pub(crate) fn draft(&self, kind: &'static str, key: &[u8; 32], memory: &[u8]) -> io::Result<Draft> {
        let Some(path) = self.path(kind, key) else {
            return Ok(Draft { snapshot: Snapshot::unnamed(memory)?, file: None });
        };
        match write(&path, memory, |file| snapshot::write(file, memory)) {
            Ok(file) => {
                let snapshot = Snapshot::map(file.as_file().try_clone()?, memory.len())?;
                Ok(Draft { snapshot, file: Some((file, path)) })
            }
            Err(error) => {
                warn(&path, &error);
                Ok(Draft { snapshot: Snapshot::unnamed(memory)?, file: None })
            }
        }
    }

    fn path(&self, kind: &'static str, key: &[u8; 32]) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(kind).join(hex::encode(key)))
    }
}

// === impl Draft ===

impl Draft {
    pub(crate) fn keep(self) -> Arc<Snapshot> {
        if let Some((file, path)) = self.file
            && let Err(error) = persist(file, &path)
        {
            warn(&path, &error);
        }
        self.snapshot
    }
}

/// A whole file, and the length of its content.
fn open(path: &Path) -> Option<(File, usize)> {
    let mut file = File::open(path).ok()?;
    let length = whole_length(&mut file).ok().flatten();
    if length.is_none() {
        tracing::warn!(path = %path.display(), "a file is damaged and is made again");
    }
    Some((file, length?))
}

/// A whole file that has no name yet, and is gone when it gets none.
fn write(
    path: &Path,
    content: &[u8],
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let checksum = crc32fast::hash(content);
    write(file.as_file_mut())?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(TRAILER_MAGIC)?;
    file.write_all(&checksum.to_le_bytes())?;
    file.as_file().set_modified(stamp(checksum))?;
    Ok(file)
}

fn persist(file: tempfile::NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A file that cannot be kept costs the next start some time and nothing else.
fn warn(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "a file could not be kept; it will be made again");
}

/// The length of the content, if the file is what was once written, all of it. Leaves it rewound.
fn whole_length(file: &mut File) -> io::Result<Option<usize>> {
    let Ok(length) = file.seek(SeekFrom::End(-(TRAILER_BYTES as i64))) else { return Ok(None) };
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact(&mut trailer)?;
    file.rewind()?;
    let Some((magic, checksum)) = trailer.split_first_chunk::<8>() else { return Ok(None) };
    let Ok(checksum) = checksum.try_into().map(u32::from_le_bytes) else { return Ok(None) };
    if magic != TRAILER_MAGIC {
        return Ok(None);
    }
    let is_whole = file.metadata()?.modified()? == stamp(checksum) || {
        let mut bytes = Vec::new();
        Read::by_ref(file).take(length).read_to_end(&mut bytes)?;
        file.rewind()?;
        crc32fast::hash(&bytes) == checksum
    };
    Ok(is_whole.then_some(length as usize))
}

/// A time nobody's write would leave behind by chance: whole seconds, because not every file system keeps more.
fn stamp(checksum: u32) -> SystemTime {
    const LONG_AGO: Duration = Duration::from_secs(1_000_000_000);
    UNIX_EPOCH + LONG_AGO + Duration::from_secs(checksum.into())
}

#[cfg(test)]
mod tests;
