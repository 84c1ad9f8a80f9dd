//! What links hold in memory. Each link counts what it keeps, before it is read or unpacked, and ends at its bound. What
//! is being transferred comes out of one budget for all links of the process; a transfer waits until there is room.
//!
//! A transfer holds its part of the budget until its body is parsed or unpacked and waits for nothing else meanwhile, so
//! that transfers cannot block each other for good.
//!
//! What all links keep together is bounded too: each link under way has an equal share of one half, and the other half
//! is for one link at a time ([`Room`]). A link that needs more than its share waits for that half, and holds nothing
//! meanwhile that the one which has it could wait for.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

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

/// What all links may keep together.
#[derive(Clone, Debug)]
pub(crate) struct LinkBudget {
    share: u64,
    rest: u64,
    one_large: Arc<Semaphore>,
    used: Arc<AtomicU64>,
}

/// What one link keeps of it. Given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Room {
    budget: LinkBudget,
    used: AtomicU64,
    large: OnceCell<OwnedSemaphorePermit>,
}

/// A part of a link's room: given back unless it is kept.
pub(crate) struct Reserved {
    room: Arc<Room>,
    bytes: u64,
}

/// Why there is no room.
#[derive(Debug)]
pub(crate) enum NoRoom {
    /// More than the share of a link: [`Room::enlarge`] waits for more.
    BeyondShare,
    Never {
        limit: u64,
    },
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

// === impl LinkBudget ===

impl LinkBudget {
    pub(crate) fn new(bytes: u64, links: usize) -> Self {
        let share = bytes / 2 / (links.max(1) as u64);
        let rest = bytes.saturating_sub(share.saturating_mul(links.max(1) as u64));
        Self { share, rest, one_large: Arc::new(Semaphore::new(1)), used: Arc::default() }
    }

    pub(crate) fn room(&self) -> Arc<Room> {
        Arc::new(Room { budget: self.clone(), used: AtomicU64::new(0), large: OnceCell::new() })
    }

    /// What links keep at the moment.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

// === impl Room ===

impl Room {
    /// Takes a part of the room without waiting.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Reserved, NoRoom> {
        let LinkBudget { share, rest, .. } = self.budget;
        let limit = if self.large.initialized() { share.saturating_add(rest) } else { share };
        let within = |used: u64| used.checked_add(bytes).filter(|used| *used <= limit);
        match self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within) {
            Ok(_) => {
                self.budget.used.fetch_add(bytes, Ordering::Relaxed);
                Ok(Reserved { room: self.clone(), bytes })
            }
            Err(_) if self.large.initialized() => Err(NoRoom::Never { limit }),
            Err(_) => Err(NoRoom::BeyondShare),
        }
    }

    /// Waits until this link is the one that may have more than its share.
    pub(crate) async fn enlarge(&self) -> Result<(), LinkError> {
        let acquire = async || Arc::clone(&self.budget.one_large).acquire_owned().await;
        self.large.get_or_try_init(acquire).await.map(drop).map_err(|_| LinkError::Interrupted)
    }

    /// Takes a part of the room, and waits for it if it is more than a share. The caller holds nothing that others wait for.
    pub(crate) async fn reserve_waiting(self: &Arc<Self>, bytes: u64) -> Result<Reserved, LinkError> {
        if let Ok(reserved) = self.reserve(bytes) {
            return Ok(reserved);
        }
        self.enlarge().await?;
        self.reserve(bytes).map_err(NoRoom::into_error)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.used.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

// === impl Reserved ===

impl Reserved {
    /// Takes more, if `bytes` are more than was reserved.
    pub(crate) fn cover(&mut self, bytes: u64) -> Result<(), NoRoom> {
        if bytes > self.bytes {
            let mut more = self.room.reserve(bytes - self.bytes)?;
            self.bytes += std::mem::take(&mut more.bytes);
        }
        Ok(())
    }

    /// Of what was reserved, `bytes` stay with the link.
    pub(crate) fn keep(mut self, bytes: u64) -> Result<(), NoRoom> {
        self.cover(bytes)?;
        self.bytes -= bytes;
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.room.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

// === impl NoRoom ===

impl NoRoom {
    pub(crate) fn into_error(self) -> LinkError {
        let limit = match self {
            Self::Never { limit } => limit,
            Self::BeyondShare => 0,
        };
        let subject = "the component's packages".to_owned();
        LinkError::OverLimit { kind: LimitKind::TotalBytes, subject, limit }
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
    async fn links_have_a_share_each_and_one_at_a_time_has_the_rest() {
        let budget = LinkBudget::new(400, 2);
        let (first, second) = (budget.room(), budget.room());

        first.reserve(100).unwrap().keep(100).unwrap();
        assert!(matches!(first.reserve(1), Err(NoRoom::BeyondShare)), "exactly a share");
        first.reserve_waiting(200).await.unwrap().keep(150).unwrap();
        assert!(matches!(first.reserve(51), Err(NoRoom::Never { limit: 300 })));
        second.reserve(100).unwrap().keep(100).unwrap();
        assert_eq!(budget.used(), 350);

        assert!(second.reserve_waiting(1).now_or_never().is_none(), "the first has the rest");
        drop(first);
        assert!(second.reserve_waiting(200).now_or_never().unwrap().is_ok());
        drop(second);
        assert_eq!(budget.used(), 0);
    }

    #[tokio::test]
    async fn what_turns_out_larger_than_it_was_said_to_be_is_refused_where_there_is_no_room() {
        let room = LinkBudget::new(200, 1).room();

        let reserved = room.reserve(10).unwrap();

        assert!(matches!(reserved.keep(101), Err(NoRoom::BeyondShare)));
        assert_eq!(room.budget.used(), 0);
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
