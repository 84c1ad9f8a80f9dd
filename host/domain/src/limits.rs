//! Every bound a user can meet, in one place, with its default.
//!
//! The defaults are those of the design ("Defaults"); an operator may set each of them. What the specification fixes
//! (the dedupe cache of 100 ids, a page of at most 100) is a constant beside its rule, not a limit here.

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// The store takes values of 64 MiB, and an event is wrapped and copied into the jobs that deliver it.
pub const EVENT_BYTES_MAXIMUM: usize = 48 * MIB;
/// Readers of JSON stop at 128 levels, and records wrap what passes through a few times.
pub const NESTING_MAXIMUM: usize = 100;
/// The store takes names of 2 KiB, and marks some of them.
pub const NAME_BYTES_MAXIMUM: usize = 2000;

/// How much longer than a body the JSON is that holds it twice, as `body` and as `bodyRaw` of an event. A byte of text is
/// escaped to two at most (`http_event` encodes what would need more), so that is four times the text; a number may be
/// written in a fifth of the digits it is read back with (`1e20`), beside its own text: less than six times.
const EVENT_PER_BODY: usize = 6;
/// The rest of an event: method, path, query, headers and url come from a head of 64 KiB, path and query several times and
/// each byte escaped or encoded; and what `$emit` is given besides.
const EVENT_HEAD_BYTES: usize = 512 * KIB;

/// What one installation allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest body a source's endpoint takes, as sent and decoded; above it the answer is 413.
    pub body_bytes: usize,
    /// Largest body a component answers with.
    pub response_bytes: usize,
    /// Largest emitted event, as JSON with what `$emit` is given besides.
    pub event_bytes: usize,
    /// Most events one run may emit.
    pub emits_per_run: usize,
    /// Most deliveries that one trigger from outside may cause, whatever runs what.
    pub deliveries_per_trigger: usize,
    /// Channels of one source.
    pub channels_per_source: usize,
    /// Longest name of a channel.
    pub channel_bytes: usize,
    /// How deep the objects and lists of an event may be nested.
    pub nesting_depth: usize,
    /// Most lines one run may log.
    pub log_lines_per_run: usize,
    /// Longest line of a log; the rest of a longer one is cut.
    pub log_line_bytes: usize,
    /// All lines of one run together.
    pub log_bytes_per_run: usize,
    /// Memory of one sandbox.
    pub memory_bytes: usize,
    /// Wall clock of a run that answers an HTTP request.
    pub http_deadline_ms: u64,
    /// Wall clock of a run started by a timer, and of a hook.
    pub timer_deadline_ms: u64,
    /// What a run may compute, in units of fuel; without it, what a CPU does until the run's deadline.
    pub fuel_per_run: Option<u64>,
    /// Largest configured value of one prop, as JSON.
    pub prop_value_bytes: usize,
    /// Longest key of a source's store.
    pub db_key_bytes: usize,
    /// Largest value under one key of a source's store.
    pub db_value_bytes: usize,
    /// All values of one source's store together.
    pub db_source_bytes: usize,
    /// All values of one data store together.
    pub data_store_bytes: usize,
    /// Shortest interval of a timer.
    pub interval_seconds_minimum: u64,
    /// Events kept for each stream of an emitter.
    pub events_kept: usize,
    /// Log lines kept for each source.
    pub logs_kept: usize,
    /// Records of runs kept for each source, component and workflow; none when 0.
    pub runs_kept: usize,
    /// How long those are kept; without an end when 0.
    pub runs_kept_seconds: u64,
    /// Largest recording of a run, before it is compressed.
    pub recording_bytes: usize,
    /// Entries of recordings kept for each account, each of one run at least; the oldest are deleted first.
    pub recordings_kept: usize,
    /// How long a webhook's receiver may take.
    pub delivery_timeout_ms: u64,
}

/// The limit on events that lets every request be emitted whole whose body is within its own limit.
pub fn event_bytes_for(body_bytes: usize) -> usize {
    body_bytes.saturating_mul(EVENT_PER_BODY).saturating_add(EVENT_HEAD_BYTES).min(EVENT_BYTES_MAXIMUM)
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        let body_bytes = 512 * KIB;
        Self {
            body_bytes,
            response_bytes: 512 * KIB,
            event_bytes: event_bytes_for(body_bytes),
            emits_per_run: 10_000,
            deliveries_per_trigger: 100_000,
            channels_per_source: 1000,
            channel_bytes: 128,
            nesting_depth: NESTING_MAXIMUM,
            log_lines_per_run: 10_000,
            log_line_bytes: 64 * KIB,
            log_bytes_per_run: MIB,
            memory_bytes: 128 * MIB,
            http_deadline_ms: 30_000,
            timer_deadline_ms: 300_000,
            fuel_per_run: None,
            prop_value_bytes: 64 * KIB,
            db_key_bytes: KIB,
            db_value_bytes: 64 * KIB,
            db_source_bytes: 16 * MIB,
            data_store_bytes: 64 * MIB,
            interval_seconds_minimum: 1,
            events_kept: 100,
            logs_kept: 1000,
            runs_kept: 200,
            runs_kept_seconds: 0,
            recording_bytes: 256 * KIB,
            recordings_kept: 200,
            delivery_timeout_ms: 15_000,
        }
    }
}
