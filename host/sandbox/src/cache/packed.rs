//! An image as it is on disk: the pages that differ from the base image, as their difference to it, compressed.
//!
//! Most of an image is its base, and most of a page of the base that a component wrote to is as it was. A page of difference
//! is mostly zeros then, and what is not are pointers and bytecode, of which a fifth remains.
//!
//! A file is made of blocks: first one of numbers that says which pages there are, then blocks of pages.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::lz4;
use crate::region::MACHINE_PAGE_BYTES;
use crate::snapshot::{self, Snapshot};

/// Pages of one block: little enough to stay in a core's cache until they are written, and much more than the window in which
/// LZ4 looks for what was there before.
const BLOCK_PAGES: usize = 256;
const BLOCK_BYTES: usize = BLOCK_PAGES * MACHINE_PAGE_BYTES;
/// More than any guest can have: its memory has 32-bit addresses.
const MOST_PAGES: u32 = ((4u64 << 30) / MACHINE_PAGE_BYTES as u64) as u32;

/// Neighbouring pages that are not the base's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageRun {
    start: u32,
    count: u32,
}

/// What is left of a packed image, and the block that is being read.
struct Blocks<'a> {
    packed: &'a [u8],
    block: &'a mut Vec<u8>,
    read: usize,
}

/// Packs memory. What is packed can be unpacked over the same base only.
pub(super) fn pack(base: &[u8], memory: &[u8]) -> io::Result<Vec<u8>> {
    let runs = differing_runs(base, memory);
    let pages = u32::try_from(memory.len() / MACHINE_PAGE_BYTES).map_err(io::Error::other)?;
    let numbers = std::iter::once(pages).chain(runs.iter().flat_map(|run| [run.start, run.count]));
    let mut packed = Vec::new();
    write_block(&mut packed, &numbers.flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    for index in runs.iter().flat_map(|run| run.start..run.start + run.count) {
        let start = block.len();
        block.extend_from_slice(page(memory, index).ok_or(io::ErrorKind::InvalidInput)?);
        flip(block.get_mut(start..).unwrap_or_default(), base, index);
        if block.len() == BLOCK_BYTES {
            write_block(&mut packed, &block);
            block.clear();
        }
    }
    write_block(&mut packed, &block);
    Ok(packed)
}

/// The image again, in memory, by way of a buffer. An error if it is none, or has more than `most_bytes`.
pub(super) fn unpack(base: &[u8], packed: &[u8], most_bytes: usize, buffer: &mut Vec<u8>) -> io::Result<Arc<Snapshot>> {
    buffer.clear();
    let mut blocks = Blocks { packed, block: buffer, read: 0 };
    let (pages, runs) = blocks.table()?;
    let length = pages as usize * MACHINE_PAGE_BYTES;
    if pages > MOST_PAGES || length > most_bytes {
        return Err(broken("an image that is too large"));
    }
    Snapshot::in_memory(length, |file| fill(file, base, length, (&mut blocks, &runs)))
}

/// Writes an image: the base's pages, and between them those of `runs`. Tells how many bytes that took.
fn fill(file: &File, base: &[u8], length: usize, (blocks, runs): (&mut Blocks<'_>, &[PageRun])) -> io::Result<usize> {
    let base_of = |from: usize, to: usize| base.get(from..to.min(length).min(base.len())).unwrap_or_default();
    let (mut written, mut at) = (0, 0);
    for run in runs {
        let start = run.start as usize * MACHINE_PAGE_BYTES;
        written += snapshot::write(file, at, base_of(at, start))?;
        at = start;
        let end = start + run.count as usize * MACHINE_PAGE_BYTES;
        while at < end {
            let pages = blocks.next_pages(end - at)?;
            for (page, index) in pages.chunks_mut(MACHINE_PAGE_BYTES).zip(at / MACHINE_PAGE_BYTES..) {
                flip(page, base, index as u32);
            }
            written += snapshot::write(file, at, pages)?;
            at += pages.len();
        }
    }
    Ok(written + snapshot::write(file, at, base_of(at, length))?)
}

// === impl Blocks ===

impl Blocks<'_> {
    /// How many pages the image has, and which are its own: in order, without overlap, and inside of the image.
    fn table(&mut self) -> io::Result<(u32, Vec<PageRun>)> {
        self.next_block(MOST_PAGES as usize * 4)?;
        let mut numbers = self.block.chunks_exact(4).filter_map(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let pages = numbers.next().ok_or_else(|| broken("an image without a table"))?;
        let (mut runs, mut end) = (Vec::new(), 0);
        while let (Some(start), Some(count)) = (numbers.next(), numbers.next()) {
            let run_end = start.checked_add(count).filter(|run_end| start >= end && *run_end <= pages);
            end = run_end.ok_or_else(|| broken("an image whose pages are out of order"))?;
            runs.push(PageRun { start, count });
        }
        self.read = self.block.len();
        Ok((pages, runs))
    }

    /// The next pages, as many as the block at hand has of so many bytes.
    fn next_pages(&mut self, most: usize) -> io::Result<&mut [u8]> {
        if self.read == self.block.len() {
            self.next_block(BLOCK_BYTES)?;
            if self.block.is_empty() || !self.block.len().is_multiple_of(MACHINE_PAGE_BYTES) {
                return Err(broken("an image with a broken page"));
            }
        }
        let from = self.read;
        self.read = self.block.len().min(from + most);
        Ok(self.block.get_mut(from..self.read).unwrap_or_default())
    }

    fn next_block(&mut self, most: usize) -> io::Result<()> {
        let (head, rest) = self.packed.split_first_chunk::<8>().ok_or(io::ErrorKind::UnexpectedEof)?;
        let [a, b, c, d, e, f, g, h] = *head;
        let (length, packed) = (u32::from_le_bytes([a, b, c, d]) as usize, u32::from_le_bytes([e, f, g, h]) as usize);
        let (packed, rest) = rest.split_at_checked(packed).ok_or(io::ErrorKind::UnexpectedEof)?;
        if length > most {
            return Err(broken("an image with a block that is too large"));
        }
        self.block.resize(length, 0);
        let read = lz4_flex::block::decompress_into(packed, self.block).map_err(io::Error::other)?;
        (self.packed, self.read) = (rest, 0);
        if read == length { Ok(()) } else { Err(broken("an image with a block that is too short")) }
    }
}

/// A block as it is, and how long it was and is.
fn write_block(packed: &mut Vec<u8>, block: &[u8]) {
    let compressed = lz4::compress(block);
    for length in [block.len(), compressed.len()] {
        packed.extend_from_slice(&(length as u32).to_le_bytes());
    }
    packed.extend_from_slice(&compressed);
}

/// From a page to its difference to the base's, and back.
fn flip(bytes: &mut [u8], base: &[u8], index: u32) {
    for (byte, of_base) in bytes.iter_mut().zip(page(base, index).unwrap_or_default()) {
        *byte ^= of_base;
    }
}

fn page(memory: &[u8], index: u32) -> Option<&[u8]> {
    let start = index as usize * MACHINE_PAGE_BYTES;
    memory.get(start..start + MACHINE_PAGE_BYTES)
}

fn differing_runs(base: &[u8], memory: &[u8]) -> Vec<PageRun> {
    let mut runs: Vec<PageRun> = Vec::new();
    for (index, content) in (0..).zip(memory.chunks(MACHINE_PAGE_BYTES)) {
        let is_same = page(base, index).map_or_else(|| snapshot::is_empty(content), |of_base| of_base == content);
        match runs.last_mut() {
            _ if is_same => {}
            Some(run) if run.start + run.count == index => run.count += 1,
            _ => runs.push(PageRun { start: index, count: 1 }),
        }
    }
    runs
}

fn broken(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// All of a file, in a buffer that may be longer.
pub(super) fn read_all<'a>(file: &File, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    let bytes = buffer.get_mut(..length).unwrap_or_default();
    file.read_exact_at(bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PageRun, differing_runs, pack, unpack, write_block};
    use crate::region::MACHINE_PAGE_BYTES;
    use crate::snapshot::stored_bytes;
    use ::engine::PAGE_BYTES;

    const AMPLE: usize = 64 << 20;

    fn memory(pages: usize, writes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
        let mut memory = vec![0; pages * PAGE_BYTES];
        for (at, byte) in writes {
            let at = at.index(memory.len());
            memory[at] = *byte;
        }
        memory
    }

    proptest! {
        #[test]
        fn an_image_is_unpacked_as_it_was_packed(
            (base_pages, pages) in (1usize..4, 1usize..6),
            base in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
            own in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
            starts_as_base in any::<bool>(),
        ) {
            let base = memory(base_pages, &base);
            let mut image = memory(pages, &own);
            if starts_as_base {
                for (byte, of_base) in image.iter_mut().zip(&base).filter(|(byte, _)| **byte == 0) {
                    *byte = *of_base;
                }
            }

            let unpacked = unpack(&base, &pack(&base, &image).unwrap(), AMPLE, &mut Vec::new()).unwrap();

            prop_assert!(unpacked.bytes() == image);
            prop_assert_eq!(unpacked.memory_bytes(), stored_bytes(&image));
        }

        #[test]
        fn what_is_not_an_image_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // As it is, and as the content of a whole block.
            let mut block = Vec::new();
            write_block(&mut block, &bytes);
            for packed in [&bytes, &block] {
                let _ = unpack(&[1; PAGE_BYTES], packed, AMPLE, &mut Vec::new());
            }
        }
    }

    #[test]
    fn what_is_the_bases_is_not_packed() {
        let base: Vec<u8> = (0..4 * PAGE_BYTES).map(|at| (at * at % 253) as u8).collect();
        let mut image = base.clone();
        image[PAGE_BYTES] ^= 1;
        image[PAGE_BYTES + MACHINE_PAGE_BYTES] ^= 1;
        image[3 * PAGE_BYTES] ^= 1;
        image.resize(6 * PAGE_BYTES, 0);

        let per_page = (PAGE_BYTES / MACHINE_PAGE_BYTES) as u32;
        let expected = [PageRun { start: per_page, count: 2 }, PageRun { start: 3 * per_page, count: 1 }];
        assert_eq!(differing_runs(&base, &image), expected);
        assert!(pack(&base, &image).unwrap().len() < 300, "three bytes differ");
    }

    #[test]
    fn an_image_beyond_the_bound_is_refused() {
        let packed = pack(&[], &vec![1; 2 * PAGE_BYTES]).unwrap();
        let unpack = |packed: &[u8], most_bytes| unpack(&[], packed, most_bytes, &mut Vec::new());

        assert!(unpack(&packed, 2 * PAGE_BYTES).is_ok());
        assert!(unpack(&packed, 2 * PAGE_BYTES - 1).is_err());
        assert!(unpack(&packed[..packed.len() / 2], AMPLE).is_err(), "half of it");
    }
}
