//! Compiled modules on disk, named by what they were made of.
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
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wasmtime::{Engine, Module};

/// Follows the module in its file. The module is an ELF object, whose readers do not mind what comes after.
const TRAILER_MAGIC: &[u8; 8] = b"wellspr\x01";
const TRAILER_BYTES: usize = TRAILER_MAGIC.len() + 4;

/// A folder of compiled modules, or nothing at all.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    folder: Option<PathBuf>,
}

// === impl Cache ===

impl Cache {
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// The module under this name, if a whole file of it is there.
    pub(crate) fn find(&self, engine: &Engine, kind: &'static str, key: &[u8; 32]) -> Option<Module> {
        read(engine, &self.path(kind, key)?)
    }

    /// Keeps a module and returns it mapped from its file, so that its pages are the page cache's and not ours.
    ///
    /// A file that cannot be written costs the next start some time and nothing else, so that is a warning.
    pub(crate) fn keep(&self, kind: &'static str, key: &[u8; 32], module: Module) -> Module {
        let Some(path) = self.path(kind, key) else { return module };
        match write(&module, &path) {
            Ok(()) => read(module.engine(), &path).unwrap_or(module),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "could not keep a compiled module; it will be made again");
                module
            }
        }
    }

    fn path(&self, kind: &'static str, key: &[u8; 32]) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(kind).join(hex::encode(key)))
    }
}

fn read(engine: &Engine, path: &Path) -> Option<Module> {
    let mut file = File::open(path).ok()?;
    if !is_whole(&mut file).unwrap_or(false) {
        tracing::warn!(path = %path.display(), "a compiled module is damaged and is made again");
        return None;
    }
    #[expect(unsafe_code, reason = "the file is ours, and its checksum says it is what we wrote")]
    let module = unsafe { Module::deserialize_open_file(engine, file) };
    module
        .inspect_err(
            |error| tracing::warn!(path = %path.display(), %error, "a compiled module does not fit and is made again"),
        )
        .ok()
}

fn write(module: &Module, path: &Path) -> Result<(), WriteError> {
    let bytes = module.serialize().map_err(WriteError::Serialize)?;
    let folder = path.parent().ok_or(WriteError::NoFolder)?;
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let checksum = crc32fast::hash(&bytes);
    file.write_all(&bytes)?;
    file.write_all(TRAILER_MAGIC)?;
    file.write_all(&checksum.to_le_bytes())?;
    file.as_file().set_modified(stamp(checksum))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether the file is what was once written, all of it. Leaves it rewound.
fn is_whole(file: &mut File) -> io::Result<bool> {
    let Ok(length) = file.seek(SeekFrom::End(-(TRAILER_BYTES as i64))) else { return Ok(false) };
    let mut trailer = [0; TRAILER_BYTES];
    file.read_exact(&mut trailer)?;
    file.rewind()?;
    let Some((magic, checksum)) = trailer.split_first_chunk::<8>() else { return Ok(false) };
    let Ok(checksum) = checksum.try_into().map(u32::from_le_bytes) else { return Ok(false) };
    if magic != TRAILER_MAGIC {
        return Ok(false);
    }
    if file.metadata()?.modified()? == stamp(checksum) {
        return Ok(true);
    }
    let mut bytes = Vec::new();
    Read::by_ref(file).take(length).read_to_end(&mut bytes)?;
    file.rewind()?;
    Ok(crc32fast::hash(&bytes) == checksum)
}

/// A time nobody's write would leave behind by chance: whole seconds, because not every file system keeps more.
fn stamp(checksum: u32) -> SystemTime {
    const LONG_AGO: Duration = Duration::from_secs(1_000_000_000);
    UNIX_EPOCH + LONG_AGO + Duration::from_secs(checksum.into())
}

#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("the module could not be serialized: {0}")]
    Serialize(wasmtime::Error),
    #[error("the path has no folder")]
    NoFolder,
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[cfg(test)]
mod tests;
