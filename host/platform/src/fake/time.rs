//! A clock that stands still until it is told to move, and randomness that repeats.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::ports::{Clock, Entropy};

pub struct ManualClock {
    now_ms: watch::Sender<u64>,
}

/// Never the same bytes twice, and the same sequence in every test.
#[derive(Default)]
pub struct CountingEntropy {
    count: AtomicU64,
}

// === impl ManualClock ===

impl ManualClock {
    pub fn at(now_ms: u64) -> Self {
        Self { now_ms: watch::Sender::new(now_ms) }
    }

    pub fn advance(&self, by_ms: u64) {
        self.now_ms.send_modify(|now_ms| *now_ms += by_ms);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        *self.now_ms.borrow()
    }

    async fn sleep_until(&self, at_ms: u64) {
        // The sender is ours, so waiting ends only when the time has come.
        let _ = self.now_ms.subscribe().wait_for(|now_ms| *now_ms >= at_ms).await;
    }
}

impl Entropy for CountingEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(32) {
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            let digest = Sha256::digest(count.to_le_bytes());
            for (byte, random) in chunk.iter_mut().zip(digest) {
                *byte = random;
            }
        }
    }
}
