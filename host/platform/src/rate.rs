//! Rate limits: a token bucket per name, refilled by the clock.

use std::sync::{Mutex, PoisonError};

use crate::HashMap;

/// Names held at once. Full buckets say nothing that a new one would not say.
const NAMES_HELD: usize = 65_536;
/// Tokens are counted in thousandths, so that a millisecond refills a whole number of them.
const TOKEN: u64 = 1000;

/// `burst` at once, and `per_second` on the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

pub(crate) struct Buckets {
    rate: Rate,
    held: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    left: u64,
    at_ms: u64,
}

// === impl Buckets ===

impl Buckets {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, held: Mutex::default() }
    }

    /// Takes one token, or says after how many milliseconds there will be one.
    pub(crate) fn take(&self, name: &str, now_ms: u64) -> Result<(), u64> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let full = u64::from(self.rate.burst.max(1)) * TOKEN;
        let refill = u64::from(self.rate.per_second.max(1));
        let level = |bucket: Bucket| full.min(bucket.left + now_ms.saturating_sub(bucket.at_ms).saturating_mul(refill));
        if held.len() >= NAMES_HELD && !held.contains_key(name) {
            held.retain(|_, bucket| level(*bucket) < full);
            if held.len() >= NAMES_HELD {
                held.clear();
            }
        }
        let left = held.get(name).map_or(full, |bucket| level(*bucket));
        let (left, taken) = match left.checked_sub(TOKEN) {
            Some(left) => (left, Ok(())),
            None => (left, Err((TOKEN - left).div_ceil(refill))),
        };
        match held.get_mut(name) {
            Some(bucket) => *bucket = Bucket { left, at_ms: now_ms },
            None => {
                held.insert(name.to_owned(), Bucket { left, at_ms: now_ms });
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests;
