//! What links hold in memory. Each link counts what it keeps, before it is read or unpacked, and ends at its bound. What
//! is being transferred comes out of one budget for all links of the process; a transfer waits until there is room.
//!
//! A transfer holds its part of the budget until its body is parsed or unpacked and waits for nothing else meanwhile, so
//! that transfers cannot block each other for good.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{LimitKind, LinkError};

const UNIT_BYTES: u64 = 1 << 20;

/// Bytes that one link keeps until it ends.
#[derive(Debug)]
pub(crate) struct Memory {
    kind: LimitKind,
    limit: u64,
    used: AtomicU64,
}

/// Bytes of a package that may still turn out to be unusable: given back unless they are kept.
pub(crate) struct Taken<'a> {
    memory: &'a Memory,
    bytes: u64,
}

/// Bytes in transfer, of all links together.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    units: Arc<Semaphore>,
    total: u64,
}

// === impl Memory ===

impl Memory {
    pub(crate) fn new(kind: LimitKind, limit: u64) -> Self {
        Self { kind, limit, used: AtomicU64::new(0) }
    }

    pub(crate) fn take(&self, bytes: u64) -> Result<(), LinkError> {
        let within = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => Ok(()),
            Err(_) => {
                let subject = "the component's packages".to_owned();
                Err(LinkError::OverLimit { kind: self.kind, subject, limit: self.limit })
            }
        }
    }

    pub(crate) fn begin(&self) -> Taken<'_> {
        Taken { memory: self, bytes: 0 }
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

// === impl Taken ===

impl Taken<'_> {
    pub(crate) fn take(&mut self, bytes: u64) -> Result<(), LinkError> {
        self.memory.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Of what was taken, `bytes` stay with the link.
    pub(crate) fn keep(mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        let total = bytes.div_ceil(UNIT_BYTES).clamp(1, u64::from(u32::MAX));
        Self { units: Arc::new(Semaphore::new(usize::try_from(total).unwrap_or(Semaphore::MAX_PERMITS))), total }
    }

    /// Waits until there is room, in the order of arrival. What is larger than the whole budget has it alone.
    pub(crate) async fn reserve(&self, bytes: u64) -> Result<OwnedSemaphorePermit, LinkError> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).min(self.total)).unwrap_or(u32::MAX);
        Arc::clone(&self.units).acquire_many_owned(units).await.map_err(|_| LinkError::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_a_link_keeps_is_bounded_and_what_it_gives_up_is_given_back() {
        let memory = Memory::new(LimitKind::TotalBytes, 10);
        let mut first = memory.begin();
        first.take(6).unwrap();
        let mut second = memory.begin();

        assert!(matches!(second.take(5), Err(LinkError::OverLimit { limit: 10, .. })));
        first.keep(4);
        second.take(6).unwrap();
        drop(second);

        assert_eq!(memory.used(), 4);
    }

    #[tokio::test]
    async fn a_transfer_waits_for_room_and_a_huge_one_for_all_of_it() {
        let budget = Budget::new(4 * UNIT_BYTES);
        let held = budget.reserve(3 * UNIT_BYTES).await.unwrap();

        let waiting = budget.reserve(2 * UNIT_BYTES);
        assert!(waiting.now_or_never().is_none());
        drop(held);

        assert!(budget.reserve(100 * UNIT_BYTES).now_or_never().is_some());
    }
}
