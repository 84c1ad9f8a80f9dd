//! A circuit breaker: once a server has not answered for as long as a caller waits, calls to it fail at once, until one of
//! the few that are let through is answered.
//!
//! Without it every request would wait out its patience, and hold its memory and its connection, for as long as the store
//! is away. Calls that are let through are spaced at random, so that the hosts of a store that comes back do not all
//! return in the same moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FIRST_WAIT: Duration = Duration::from_millis(200);
/// Short, because holders of leases renew them as soon as the store is back, before others take them.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

#[derive(Default)]
pub(crate) struct Breaker {
    /// Read by every call; what it guards is looked at only while it is set.
    is_open: AtomicBool,
    open: Mutex<Option<Open>>,
}

struct Open {
    wait: Duration,
    next_at: Instant,
}

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Yes,
    /// To find out whether the server is back: one attempt.
    Probe,
    No,
}

// === impl Breaker ===

impl Breaker {
    pub(crate) fn enter(&self, now: impl FnOnce() -> Instant) -> Pass {
        if !self.is_open.load(Ordering::Acquire) {
            return Pass::Yes;
        }
        let mut open = self.lock();
        let Some(state) = open.as_mut() else { return Pass::Yes };
        let now = now();
        if now < state.next_at {
            return Pass::No;
        }
        // Others wait until this one has ended, or at least as long as it may take.
        state.next_at = now + LONGEST_WAIT;
        Pass::Probe
    }

    /// The server answered, whatever it said. Tells whether it had not before.
    pub(crate) fn answered(&self) -> bool {
        if !self.is_open.load(Ordering::Acquire) {
            return false;
        }
        self.is_open.store(false, Ordering::Release);
        self.lock().take().is_some()
    }

    /// It did not answer for as long as the call waited. `random` is any number: it spreads the next attempt.
    pub(crate) fn gave_up(&self, now: Instant, random: u64) {
        let mut open = self.lock();
        let wait = open.as_ref().map_or(FIRST_WAIT, |before| (before.wait * 2).min(LONGEST_WAIT));
        *open = Some(Open { wait, next_at: now + jittered(wait, random) });
        self.is_open.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// From half of it to all of it.
pub(crate) fn jittered(wait: Duration, random: u64) -> Duration {
    let half_us = u64::try_from(wait.as_micros() / 2).unwrap_or(u64::MAX);
    Duration::from_micros(half_us + random % half_us.max(1))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Breaker, LONGEST_WAIT, Pass, jittered};

    #[test]
    fn calls_fail_at_once_after_one_gave_up_but_for_one_now_and_then() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        let enter = |after_ms: u64| breaker.enter(|| start + Duration::from_millis(after_ms));
        assert_eq!(enter(0), Pass::Yes);

        breaker.gave_up(start, 0);

        assert_eq!(enter(50), Pass::No);
        assert_eq!(enter(150), Pass::Probe);
        assert_eq!(enter(151), Pass::No, "one at a time");
        breaker.gave_up(start + Duration::from_millis(400), 0);
        assert_eq!(enter(550), Pass::No, "the second wait is longer");
        assert_eq!(enter(700), Pass::Probe);
        assert!(breaker.answered(), "it had not answered before");
        assert_eq!(enter(701), Pass::Yes);
        assert!(!breaker.answered());
    }

    #[test]
    fn a_probe_whose_caller_went_away_does_not_close_the_way_for_good() {
        let (breaker, start) = (Breaker::default(), Instant::now());
        breaker.gave_up(start, 0);
        let probed = start + Duration::from_secs(1);
        assert_eq!(breaker.enter(|| probed), Pass::Probe);

        assert_eq!(breaker.enter(|| probed + LONGEST_WAIT), Pass::Probe);
    }

    #[test]
    fn waits_are_spread_and_bounded() {
        let wait = Duration::from_millis(100);
        assert_eq!(jittered(wait, 0), Duration::from_millis(50));
        assert!((0..1000).map(|random| jittered(wait, random * 7919)).all(|waited| waited <= wait));

        let (breaker, start) = (Breaker::default(), Instant::now());
        (0..50).for_each(|_| breaker.gave_up(start, u64::MAX));
        assert_eq!(breaker.enter(|| start + LONGEST_WAIT), Pass::Probe);
    }
}
