//! Every bound a user can meet, in one place, with its default.
//!
//! The defaults are those of the design ("Defaults"); an operator may set each of them. What the specification fixes
//! (the dedupe cache of 100 ids, a page of at most 100) is a constant beside its rule, not a limit here.

/// What one installation allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest body a source's endpoint takes (above it the answer is 413), and largest it answers with.
    pub body_bytes: usize,
    /// Largest emitted event, as JSON.
    pub event_bytes: usize,
    /// Most events one run may emit.
    pub emits_per_run: usize,
    /// Memory of one sandbox.
    pub memory_bytes: usize,
    /// Wall clock of a run that answers an HTTP request.
    pub http_deadline_ms: u64,
    /// Wall clock of a run started by a timer, and of a hook.
    pub timer_deadline_ms: u64,
    /// Largest configured value of one prop, as JSON.
    pub prop_value_bytes: usize,
    /// Largest value under one key of a source's store.
    pub db_value_bytes: usize,
    /// All values of one source's store together.
    pub db_source_bytes: usize,
    /// Shortest interval of a timer.
    pub interval_seconds_minimum: u64,
    /// Events kept for each stream of an emitter.
    pub events_kept: usize,
    /// Log lines kept for each source.
    pub logs_kept: usize,
    /// How long a webhook's receiver may take.
    pub delivery_timeout_ms: u64,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        const KIB: usize = 1024;
        const MIB: usize = 1024 * KIB;
        Self {
            body_bytes: 512 * KIB,
            event_bytes: 512 * KIB,
            emits_per_run: 10_000,
            memory_bytes: 128 * MIB,
            http_deadline_ms: 30_000,
            timer_deadline_ms: 300_000,
            prop_value_bytes: 64 * KIB,
            db_value_bytes: 64 * KIB,
            db_source_bytes: 16 * MIB,
            interval_seconds_minimum: 1,
            events_kept: 100,
            logs_kept: 1000,
            delivery_timeout_ms: 15_000,
        }
    }
}
