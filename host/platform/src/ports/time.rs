//! Time and randomness, passed in so that tests need neither sleep nor luck.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

/// Obligations: `sleep_until` returns at once for an instant that has passed, and may be dropped at any time.
#[async_trait]
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Microseconds since the Unix epoch, as far as the clock knows them.
    fn now_us(&self) -> u64 {
        self.now_ms().saturating_mul(1000)
    }

    async fn sleep_until(&self, at_ms: u64);

    /// The store's clock said this, in an answer that took so long. A clock that hosts share goes by it from now on.
    fn follow(&self, _store_us: u64, _took_us: u64) {}

    /// How much the machine's own clock is ahead of this one.
    fn offset_ms(&self) -> i64 {
        0
    }
}

/// Obligations: cryptographically secure, never blocks for long, never fails.
pub trait Entropy: Send + Sync {
    fn fill(&self, buffer: &mut [u8]);
}

/// This machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// The clock of a store that several hosts share: the machine's own decides nothing, and may be off or step.
///
/// It counts on from what the store said last, by the kernel's monotonic clock, which no administrator sets.
#[derive(Debug)]
pub struct StoreClock {
    began: Instant,
    /// What to add to the time since then, in microseconds.
    ahead_us: AtomicU64,
}

/// The kernel's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

// === impl Clock ===

impl dyn Clock + '_ {
    /// The instant in the type the rules of `domain` count in.
    pub fn instant_ms(&self) -> i64 {
        i64::try_from(self.now_ms()).unwrap_or(i64::MAX)
    }

    pub fn now_seconds(&self) -> u64 {
        self.now_ms() / 1000
    }
}

// === impl Entropy ===

impl dyn Entropy + '_ {
    pub fn bytes<const SIZE: usize>(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        self.fill(&mut bytes);
        bytes
    }
}

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the system")]
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock of the system")]
    fn now_us(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock of the system")]
    async fn sleep_until(&self, at_ms: u64) {
        tokio::time::sleep(Duration::from_millis(at_ms.saturating_sub(self.now_ms()))).await;
    }
}

// === impl StoreClock ===

impl StoreClock {
    /// Goes by the machine's clock until the store has been asked.
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the system")]
    pub fn new() -> Self {
        Self { began: Instant::now(), ahead_us: AtomicU64::new(SystemClock.now_us()) }
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Default for StoreClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for StoreClock {
    fn now_ms(&self) -> u64 {
        self.now_us() / 1000
    }

    fn now_us(&self) -> u64 {
        self.ahead_us.load(Ordering::Relaxed).saturating_add(self.elapsed_us())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock of the system")]
    async fn sleep_until(&self, at_ms: u64) {
        let wait_us = at_ms.saturating_mul(1000).saturating_sub(self.now_us());
        tokio::time::sleep(Duration::from_micros(wait_us)).await;
    }

    fn follow(&self, store_us: u64, took_us: u64) {
        // The store looked at its clock at some moment of the call: within half of it this is as good as what is known.
        let about_us = store_us.saturating_add(took_us / 2);
        if about_us.abs_diff(self.now_us()) > took_us / 2 {
            self.ahead_us.store(about_us.saturating_sub(self.elapsed_us()), Ordering::Relaxed);
        }
    }

    fn offset_ms(&self) -> i64 {
        let (own, shared) = (i64::try_from(SystemClock.now_ms()), i64::try_from(self.now_ms()));
        own.unwrap_or(i64::MAX).saturating_sub(shared.unwrap_or(i64::MAX))
    }
}

impl Entropy for SystemEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        /// Every request takes a few dozen bytes; asking the kernel for each would be a call for each.
        const FETCHED_BYTES: usize = 1024;
        thread_local! {
            static FETCHED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        if buffer.len() > FETCHED_BYTES / 8 {
            return fetch(buffer);
        }
        FETCHED.with_borrow_mut(|fetched| {
            if fetched.len() < buffer.len() {
                fetched.resize(FETCHED_BYTES, 0);
                fetch(fetched);
            }
            let given = fetched.len() - buffer.len();
            // Nothing is given twice, nor stays behind.
            let (_, random) = fetched.split_at_mut(given);
            buffer.copy_from_slice(random);
            random.fill(0);
            fetched.truncate(given);
        });
    }
}

fn fetch(buffer: &mut [u8]) {
    // A kernel without randomness is none this program starts on; zeros would be worse than stopping.
    if getrandom::fill(buffer).is_err() {
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Clock, Entropy, StoreClock, SystemClock, SystemEntropy};

    #[test]
    fn a_shared_clock_goes_by_the_store_and_says_how_far_the_machine_is_off() {
        let clock = StoreClock::new();
        let five_minutes_us = 300_000_000;
        assert!(clock.offset_ms().abs() < 1000);

        let store_us = SystemClock.now_us() - five_minutes_us;
        clock.follow(store_us, 1000);

        assert!(clock.now_us().abs_diff(store_us) < 1_000_000);
        assert!((clock.offset_ms() - 300_000).abs() < 1000, "{}", clock.offset_ms());
        // An answer that took long tells nothing new about a clock that is within its error.
        let before_us = clock.now_us();
        clock.follow(before_us - 400_000, 1_000_000);
        assert!(clock.now_us() >= before_us);
    }

    #[test]
    fn no_random_bytes_are_given_twice() {
        let mut seen = HashSet::new();
        for length in (16..200).cycle().take(2000) {
            let mut bytes = vec![0; length];
            SystemEntropy.fill(&mut bytes);
            bytes.chunks_exact(16).for_each(|part| assert!(seen.insert(part.to_vec())));
        }
    }
}
