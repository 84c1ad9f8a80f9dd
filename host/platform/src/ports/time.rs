//! Time and randomness, passed in so that tests need neither sleep nor luck.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
}

/// Obligations: cryptographically secure, never blocks for long, never fails.
pub trait Entropy: Send + Sync {
    fn fill(&self, buffer: &mut [u8]);
}

/// This machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

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

    use super::{Entropy, SystemEntropy};

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
