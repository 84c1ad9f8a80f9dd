//! Wakes workers that wait for jobs and timers, and tells them where to look.
//!
//! Best effort by design: a missed pulse costs latency, never correctness, because a worker also knows when the next job
//! is due. Events have a channel of their own, which may not miss anything: see `feed.rs`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::{Batch, Op, Partition};

#[derive(Debug, Clone)]
pub struct Pulse {
    work: watch::Sender<u64>,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    anywhere: AtomicBool,
    was_away: AtomicBool,
    is_busy: AtomicBool,
    /// The earliest time of each origin.
    partitions: Mutex<BTreeMap<(Partition, Origin), u64>>,
}

/// Where there may be work, and from when on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    pub partition: Partition,
    pub due_ms: u64,
    pub origin: Origin,
}

/// Which host made the work: it will look for it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    Here,
    There,
    /// A host that has no room for it.
    Busy,
}

/// What was heard since the last time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wakes {
    /// There may be work in any partition.
    pub anywhere: bool,
    /// The store did not answer for a while: leases may have run out that their holders are about to renew.
    pub was_away: bool,
    pub partitions: Vec<Wake>,
}

impl Pulse {
    /// Changes when jobs or timers were committed.
    pub fn work(&self) -> watch::Receiver<u64> {
        self.work.subscribe()
    }

    /// What was heard since the last call.
    pub fn take(&self) -> Wakes {
        let anywhere = self.heard.anywhere.swap(false, Ordering::AcqRel);
        let was_away = self.heard.was_away.swap(false, Ordering::AcqRel);
        let heard = std::mem::take(&mut *self.lock());
        let wake = |((partition, origin), due_ms)| Wake { partition, due_ms, origin };
        Wakes { anywhere, was_away, partitions: heard.into_iter().map(wake).collect() }
    }

    /// Whether this host has no room for more work: what it commits is then told to the others.
    pub fn set_busy(&self, is_busy: bool) {
        self.heard.is_busy.store(is_busy, Ordering::Relaxed);
    }

    /// There may be work in any partition, for instance that of a host that is gone.
    pub fn work_is_there(&self) {
        self.heard.anywhere.store(true, Ordering::Release);
        self.wake();
    }

    /// The store did not answer this host.
    pub fn store_is_away(&self) {
        self.heard.was_away.store(true, Ordering::Release);
    }

    pub(crate) fn new() -> Self {
        Self { work: watch::Sender::new(0), heard: Arc::default() }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.heard.is_busy.load(Ordering::Relaxed)
    }

    /// There is work in this partition from then on.
    pub fn work_in(&self, partition: Partition, due_ms: u64, origin: Origin) {
        let mut heard = self.lock();
        let due = heard.entry((partition, origin)).or_insert(due_ms);
        *due = due_ms.min(*due);
        drop(heard);
        self.wake();
    }

    fn wake(&self) {
        self.work.send_modify(|count| *count = count.wrapping_add(1));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Partition, Origin), u64>> {
        self.heard.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the batch, once applied, leaves work that may be due.
pub(crate) fn makes_work(batch: &Batch) -> bool {
    batch.operations.iter().any(|operation| {
        // An acknowledged job frees its lane: the next one may be due already.
        matches!(
            operation,
            Op::Enqueue(_) | Op::Acknowledge(_) | Op::Reschedule { .. } | Op::SetTimer { .. } | Op::FinishTick { .. }
        )
    })
}
