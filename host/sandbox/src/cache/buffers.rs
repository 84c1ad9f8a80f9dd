//! Buffers that images are read into and unpacked by way of, used again: memory that is new costs as much as unpacking, and what an
//! allocator keeps of it is kept by each thread.

use std::sync::{Mutex, PoisonError};

/// Pairs that are kept: as many images as are mostly unpacked at once.
const KEPT: usize = 2;
/// A larger one is given up after use.
const KEPT_BYTES: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Buffers(Mutex<Vec<Pair>>);

#[derive(Default)]
pub(super) struct Pair {
    /// An image as it is on disk.
    pub(super) packed: Vec<u8>,
    /// A block of its pages.
    pub(super) block: Vec<u8>,
}

// === impl Buffers ===

impl Buffers {
    pub(super) fn take(&self) -> Pair {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(super) fn put_back(&self, pair: Pair) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT && pair.packed.capacity().max(pair.block.capacity()) <= KEPT_BYTES {
            kept.push(pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffers, KEPT, KEPT_BYTES, Pair};

    #[test]
    fn so_many_of_so_many_bytes_are_kept() {
        let buffers = Buffers::default();
        let pair = |bytes| Pair { packed: Vec::with_capacity(bytes), block: Vec::new() };

        buffers.put_back(pair(KEPT_BYTES + 1));
        (0..=KEPT).for_each(|_| buffers.put_back(pair(KEPT_BYTES)));

        let kept: Vec<usize> = (0..=KEPT).map(|_| buffers.take().packed.capacity()).collect();
        assert_eq!(kept, [vec![KEPT_BYTES; KEPT], vec![0]].concat());
    }
}
