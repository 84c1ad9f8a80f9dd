//! The memory of a guest at rest, as a file. A run maps it and writes to a copy of its own.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::region::{MACHINE_PAGE_BYTES, Region};
use ::engine::PAGE_BYTES;

#[derive(Debug)]
pub(crate) struct Snapshot {
    file: File,
    /// What a written page is restored from.
    content: Region,
    id: u64,
}

// === impl Snapshot ===

impl Snapshot {
    /// Maps the first `length` bytes of a file, a whole number of WebAssembly's pages.
    pub(crate) fn map(file: File, length: usize) -> io::Result<Arc<Self>> {
        if length == 0 || !length.is_multiple_of(PAGE_BYTES) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a memory of a broken page"));
        }
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Arc::new(Self { content: Region::of_file(&file, length)?, file, id }))
    }

    /// A snapshot that no name leads to.
    pub(crate) fn unnamed(memory: &[u8]) -> io::Result<Arc<Self>> {
        let mut file = tempfile::tempfile()?;
        write(&mut file, memory)?;
        Self::map(file, memory.len())
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

    pub(crate) fn bytes(&self) -> &[u8] {
        #[expect(unsafe_code, reason = "the file is ours and is never written again")]
        // SAFETY: all of the region is mapped to be read for as long as it lives.
        unsafe {
            std::slice::from_raw_parts(self.content.start(), self.content.length())
        }
    }
}

/// Writes memory to a file that was empty. Pages of zeros become holes, which take no room.
pub(crate) fn write(file: &mut File, memory: &[u8]) -> io::Result<()> {
    for page in memory.chunks(MACHINE_PAGE_BYTES) {
        if is_empty(page) {
            file.seek(SeekFrom::Current(page.len() as i64))?;
        } else {
            file.write_all(page)?;
        }
    }
    file.set_len(memory.len() as u64)
}

/// What the file of this memory takes on a disk.
pub(crate) fn stored_bytes(memory: &[u8]) -> usize {
    memory.chunks(MACHINE_PAGE_BYTES).filter(|page| !is_empty(page)).map(<[u8]>::len).sum()
}

pub(crate) fn is_empty(page: &[u8]) -> bool {
    page.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests;
