//! The memory of a guest at rest, as a file. A run maps it and writes to a copy of its own.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::region::{MACHINE_PAGE_BYTES, Region};
use ::engine::PAGE_BYTES;

#[derive(Debug)]
pub(crate) struct Snapshot {
    file: File,
    /// What a written page is restored from.
    content: Region,
    id: u64,
    /// What it takes of memory, when it is not a file of a disk: its pages that are not empty.
    memory_bytes: usize,
    digest: OnceLock<[u8; 32]>,
}

// === impl Snapshot ===

impl Snapshot {
    /// Maps the first `length` bytes of a file, a whole number of WebAssembly's pages.
    pub(crate) fn map(file: File, length: usize) -> io::Result<Arc<Self>> {
        Self::new(file, length, 0)
    }

    /// A snapshot in memory that no name leads to, and that nothing can write to or cut short.
    pub(crate) fn unnamed(memory: &[u8]) -> io::Result<Arc<Self>> {
        Self::in_memory(memory.len(), |file| write(file, 0, memory))
    }

    /// The same of a length; `fill` writes it and tells how many bytes it wrote.
    pub(crate) fn in_memory(length: usize, fill: impl FnOnce(&File) -> io::Result<usize>) -> io::Result<Arc<Self>> {
        let file = memory_file()?;
        file.set_len(length as u64)?;
        let memory_bytes = fill(&file)?;
        seal(&file);
        Self::new(file, length, memory_bytes)
    }

    fn new(file: File, length: usize, memory_bytes: usize) -> io::Result<Arc<Self>> {
        if length == 0 || !length.is_multiple_of(PAGE_BYTES) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a memory of a broken page"));
        }
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        let content = Region::of_file(&file, length)?;
        Ok(Arc::new(Self { content, file, id, memory_bytes, digest: OnceLock::new() }))
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Of no other snapshot of this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn length(&self) -> usize {
        self.content.length()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Of its content.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        self.digest.get_or_init(|| blake3::hash(self.bytes()).into())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "the file is ours and is never written again")]
        // SAFETY: all of the region is mapped to be read for as long as it lives.
        unsafe {
            std::slice::from_raw_parts(self.content.start(), self.content.length())
        }
    }
}

/// Writes memory to a file, from `at` on, and tells how many bytes that took. Pages of zeros are left out: in a file that was
/// empty they are holes, which take no room. It needs no system call that a worker process may not make.
pub(crate) fn write(mut file: &File, at: usize, memory: &[u8]) -> io::Result<usize> {
    let (mut written, mut from) = (0, 0);
    while let Some(rest) = memory.get(from..).filter(|rest| !rest.is_empty()) {
        let is_filled = !rest.chunks(MACHINE_PAGE_BYTES).next().is_none_or(is_empty);
        let alike =
            rest.chunks(MACHINE_PAGE_BYTES).take_while(|page| is_empty(page) != is_filled).map(<[u8]>::len).sum();
        if is_filled {
            file.seek(SeekFrom::Start((at + from) as u64))?;
            file.write_all(rest.get(..alike).unwrap_or_default())?;
            written += alike;
        }
        from += alike;
    }
    Ok(written)
}

/// What the file of this memory takes on a disk.
pub(crate) fn stored_bytes(memory: &[u8]) -> usize {
    memory.chunks(MACHINE_PAGE_BYTES).filter(|page| !is_empty(page)).map(<[u8]>::len).sum()
}

pub(crate) fn is_empty(page: &[u8]) -> bool {
    /// Looked at without a branch for every byte.
    const STRIDE: usize = 64;
    page.chunks(STRIDE).all(|bytes| bytes.iter().fold(0, |all, byte| all | byte) == 0)
}

/// A file without a name, which only memory holds.
#[cfg(target_os = "linux")]
fn memory_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("snapshot", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?.into())
}

#[cfg(not(target_os = "linux"))]
fn memory_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// A process that gets the file, such as a worker, cannot change it under the runs of others. Kernels that do not know the
/// seals leave what a file has: it is only ever opened to be read.
#[cfg(target_os = "linux")]
fn seal(file: &File) {
    use rustix::fs::{SealFlags, fcntl_add_seals};
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    if let Err(error) = fcntl_add_seals(file, seals) {
        tracing::debug!(%error, "a snapshot could not be sealed");
    }
}

#[cfg(not(target_os = "linux"))]
fn seal(_: &File) {}

#[cfg(test)]
mod tests;
