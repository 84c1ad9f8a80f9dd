//! What a store tells its operator: what it counts as it works, and what is looked at when it is asked for.

use std::time::Duration;

use metrics::{CacheUse, Counter, Family, Histogram, MICROSECONDS, WHOLE, of_caches};

/// Batches in a group: a full one has 128 on Redis and 512 on SQLite.
const GROUP_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/// What waits, and how long it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// In the queue: due, to be tried again later, or being worked on.
    pub jobs: u64,
    /// Since when the longest waiting job could be worked on, when there is one that could be now.
    pub oldest_job_ms: Option<u64>,
    pub timers: u64,
    /// When the most overdue tick that is not being worked on was due.
    pub oldest_tick_ms: Option<u64>,
    /// What the engine takes on disk or in memory, as far as it knows.
    pub size_bytes: Option<u64>,
}

/// Counted by an engine as it works.
pub(crate) struct Numbers {
    commit_seconds: Histogram,
    group_commits: Histogram,
    failed_commits: Counter,
    pub(crate) record_cache: CacheUse,
}

/// What a server was asked, and how long it took.
#[derive(Debug)]
pub(crate) struct RoundTrips {
    /// Name and help of its two families.
    families: [(&'static str, &'static str); 2],
    seconds: Histogram,
    failed: Counter,
}

// === impl Load ===

impl Load {
    /// Of parts that are loaded apart from each other.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let earlier = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            jobs: self.jobs + other.jobs,
            oldest_job_ms: earlier(self.oldest_job_ms, other.oldest_job_ms),
            timers: self.timers + other.timers,
            oldest_tick_ms: earlier(self.oldest_tick_ms, other.oldest_tick_ms),
            size_bytes: self.size_bytes.or(other.size_bytes),
        }
    }
}

// === impl Numbers ===

impl Default for Numbers {
    fn default() -> Self {
        Self {
            commit_seconds: Histogram::of_seconds(),
            group_commits: Histogram::new(GROUP_BOUNDS),
            failed_commits: Counter::new(),
            record_cache: CacheUse::default(),
        }
    }
}

impl Numbers {
    /// One commit was answered; `is_failure` is the engine's own, and no precondition that did not hold.
    pub(crate) fn committed(&self, took: Duration, is_failure: bool) {
        self.commit_seconds.observe_time(took);
        if is_failure {
            self.failed_commits.increment();
        }
    }

    /// So many commits share a write.
    pub(crate) fn grouped(&self, commits: usize) {
        if commits > 0 {
            self.group_commits.observe(commits as u64);
        }
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        let seconds = self.commit_seconds.read(MICROSECONDS);
        let commits = self.group_commits.read(WHOLE);
        vec![
            Family::histogram("wellspring_commit_seconds", "Time of a commit, from the call to the answer")
                .sample(&[], seconds),
            Family::histogram("wellspring_commit_group_size", "Commits that shared one write").sample(&[], commits),
            Family::counter("wellspring_commit_failures", "Commits that the store could not make")
                .sample(&[], self.failed_commits.read()),
        ]
    }

    pub(crate) fn of_record_cache(&self, held_bytes: u64) -> Vec<Family> {
        of_caches("records", &self.record_cache, (None, Some(held_bytes)))
    }
}

// === impl RoundTrips ===

impl RoundTrips {
    pub(crate) fn to_redis() -> Self {
        Self::named([
            ("wellspring_redis_request_seconds", "Time of a round trip to Redis"),
            ("wellspring_redis_request_failures", "Round trips to Redis that ended in an error"),
        ])
    }

    /// A transaction may be several round trips, and is one request.
    pub(crate) fn to_postgres() -> Self {
        Self::named([
            ("wellspring_postgres_request_seconds", "Time of a question to PostgreSQL, or of a transaction there"),
            ("wellspring_postgres_request_failures", "Questions and transactions that ended in an error"),
        ])
    }

    fn named(families: [(&'static str, &'static str); 2]) -> Self {
        Self { families, seconds: Histogram::of_seconds(), failed: Counter::new() }
    }

    pub(crate) fn made(&self, took: Duration, is_failure: bool) {
        self.seconds.observe_time(took);
        if is_failure {
            self.failed.increment();
        }
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        let [seconds, failures] = self.families;
        vec![
            Family::histogram(seconds.0, seconds.1).sample(&[], self.seconds.read(MICROSECONDS)),
            Family::counter(failures.0, failures.1).sample(&[], self.failed.read()),
        ]
    }
}
