//! Unpacks a package's tarball, in memory only: nothing from outside ever names a path on disk.
//!
//! Links are passed over, as npm does; a path that leads out of the package is refused. Files that no
//! `require` can load (documentation, types, source maps) are counted and dropped.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry};

use crate::{
    config::Limits,
    error::{ArchiveFault, LimitKind, LinkError},
    memory::Memory,
};

/// From path inside the package to content. What cannot run (`.node`, `binding.gyp`) is there by name
/// only, so that it can be explained.
pub(crate) type Files = BTreeMap<String, Bytes>;

/// Kept with their content. Names without an extension are kept too: they can be a package's main file.
const LOADABLE_EXTENSIONS: [&str; 4] = ["js", "cjs", "mjs", "json"];

const NATIVE_EXTENSION: &str = "node";

/// The build file of a native addon.
pub(crate) const NATIVE_BUILD_FILE: &str = "binding.gyp";

/// What is kept is counted before it is read: in `memory`, and by `cover`, which is told how much it is in all.
pub(crate) fn unpack(
    package: &str,
    tarball: &[u8],
    limits: &Limits,
    memory: &Memory,
    cover: &mut dyn FnMut(u64) -> Result<(), LinkError>,
) -> Result<Files, LinkError> {
    let over = |kind, limit| LinkError::OverLimit { kind, subject: package.to_owned(), limit };
    let corrupt = |fault| LinkError::CorruptPackage { package: package.to_owned(), fault };
    let format = |_: io::Error| corrupt(ArchiveFault::Format);

    // One byte over the limit is enough to know. Headers and padding count as well.
    let ceiling = limits.unpacked_bytes.saturating_add(1);
    let mut archive = Archive::new(MultiGzDecoder::new(tarball).take(ceiling));
    let mut files = Files::new();
    let mut taken = memory.begin();
    let (mut unpacked_bytes, mut kept_bytes, mut count) = (0_u64, 0_u64, 0_usize);
    for entry in archive.entries().map_err(format)? {
        // A stream that `take` cut off reads as a broken archive; tell that from a really broken one.
        let Ok(mut entry) = entry else {
            return Err(cut_off(tarball, limits)
                .map_or_else(|| corrupt(ArchiveFault::Format), |limit| over(LimitKind::UnpackedBytes, limit)));
        };
        unpacked_bytes = unpacked_bytes.saturating_add(entry.size());
        count += 1;
        if unpacked_bytes > limits.unpacked_bytes {
            return Err(over(LimitKind::UnpackedBytes, limits.unpacked_bytes));
        }
        if count > limits.file_count {
            return Err(over(LimitKind::Files, limits.file_count as u64));
        }
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = inner_path(&entry).map_err(corrupt)?;
        if is_kept(&path) {
            taken.take(entry.size())?;
            kept_bytes = kept_bytes.saturating_add(entry.size());
            cover(kept_bytes)?;
        }
        if let Some(content) = content(&mut entry, &path).map_err(format)? {
            files.insert(path, content);
        }
    }
    if !files.contains_key("package.json") {
        return Err(corrupt(ArchiveFault::Manifest));
    }
    taken.keep(size_of(&files));
    Ok(files)
}

/// What a compressed archive says that it holds: the last four bytes of gzip, which are not to be trusted. Unpacking counts,
/// and refuses what is no gzip.
pub(crate) fn stated_bytes(tarball: &[u8]) -> u64 {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let size = tarball.last_chunk().filter(|_| tarball.starts_with(&GZIP));
    size.map_or(0, |size| u64::from(u32::from_le_bytes(*size)))
}

/// Of everything that is kept of a package.
pub(crate) fn size_of(files: &Files) -> u64 {
    files.values().map(|content| content.len() as u64).sum()
}

/// The limit, if the archive has more bytes than it allows.
fn cut_off(tarball: &[u8], limits: &Limits) -> Option<u64> {
    let mut reader = MultiGzDecoder::new(tarball).take(limits.unpacked_bytes.saturating_add(1));
    let copied = io::copy(&mut reader, &mut io::sink()).ok()?;
    (copied > limits.unpacked_bytes).then_some(limits.unpacked_bytes)
}

/// Without the first folder (`package/`, but some tools write another name) and without `.` and `//`.
fn inner_path<R: Read>(entry: &Entry<'_, R>) -> Result<String, ArchiveFault> {
    let bytes = entry.path_bytes();
    let path = String::from_utf8_lossy(&bytes).replace('\\', "/");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") || path.contains('\0') {
        return Err(ArchiveFault::Path { path });
    }
    Ok(parts.get(1..).unwrap_or_default().join("/"))
}

/// Whether the content of a file is kept, and not its name alone.
fn is_kept(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is_loadable = extension.is_none_or(|extension| LOADABLE_EXTENSIONS.contains(&extension));
    !name.is_empty() && name != NATIVE_BUILD_FILE && is_loadable
}

fn content<R: Read>(entry: &mut Entry<'_, R>, path: &str) -> io::Result<Option<Bytes>> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    if name == NATIVE_BUILD_FILE || extension == Some(NATIVE_EXTENSION) {
        return Ok(Some(Bytes::new()));
    }
    if !is_kept(path) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    Ok(Some(bytes.into()))
}

#[cfg(test)]
mod tests;
