//! How long a request waits for the end of its run before it is accepted in a batch of its own.
//!
//! A host with much to do takes longer for every run. To accept each of them first would double what it has to write when it
//! can least afford it, and would answer clients faster than their requests are run, until there is no room for more. So a
//! run also has the time that those which are not answered yet may take.

use crate::flow::handle::Flow;

/// More than an ordinary run takes of a thread, its part of the commit included.
const RUN_US: u64 = 500;
/// The bound, in times of what a host with nothing to do gives.
const MOST_TIMES: u64 = 5;

impl Flow {
    /// When a run that begins now has taken too long for its client to wait for it.
    pub(in crate::flow) fn grace_ends_ms(&self) -> u64 {
        let unanswered = self.platform.pools().requests_in_flight();
        let grace_ms = grace_ms(self.config.grace_ms, unanswered, self.config.threads);
        self.platform.clock.now_ms().saturating_add(grace_ms)
    }
}

fn grace_ms(idle_ms: u64, unanswered: u64, threads: u64) -> u64 {
    let others_us = unanswered.saturating_sub(1).saturating_mul(RUN_US) / threads.max(1);
    idle_ms.saturating_add(others_us / 1000).min(idle_ms.saturating_mul(MOST_TIMES))
}

#[cfg(test)]
mod tests {
    use super::grace_ms;

    #[test]
    fn the_grace_grows_with_what_is_not_answered_up_to_its_bound() {
        let cases = [
            ((1, 2), 5),
            ((2, 2), 5),
            ((5, 2), 6),
            ((64, 2), 20),
            ((64, 16), 6),
            ((81, 2), 25),
            ((u64::MAX, 2), 25),
            ((0, 0), 5),
        ];
        for ((unanswered, threads), expected) in cases {
            assert_eq!(grace_ms(5, unanswered, threads), expected, "{unanswered} on {threads} threads");
        }
        assert_eq!(grace_ms(0, 100, 1), 0, "where every request is to be accepted first");
    }
}
