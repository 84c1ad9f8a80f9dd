//! The bounds of one run. A run that exceeds one ends, with a fault that names it.

use std::time::Duration;

/// What a run may use. The defaults are those of the product.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Units of fuel; about one per WebAssembly instruction, so a thousand million is roughly a second of CPU.
    pub fuel: u64,
    pub wall_clock: Duration,
    pub memory_bytes: usize,
    pub emits: usize,
    /// Size of one event with its metadata.
    pub event_bytes: usize,
    /// Size of all events of a run together.
    pub emitted_bytes: usize,
    pub log_lines: usize,
    /// Size of one line; the rest of a longer one is cut.
    pub log_line_bytes: usize,
    pub log_bytes: usize,
    pub db_value_bytes: usize,
    pub db_key_bytes: usize,
    /// Size of everything one run writes to its key-value store.
    pub db_written_bytes: usize,
    /// Size of the body of an answer.
    pub reply_bytes: usize,
    pub reply_headers: usize,
    /// Size of all names and values of an answer's headers together.
    pub reply_header_bytes: usize,
    pub effects: usize,
    pub requests: usize,
    /// Size of all bodies sent together.
    pub sent_bytes: usize,
    /// Size of all response bodies read together.
    pub received_bytes: usize,
    /// Size of the recording of what the host answered; none is made when it is zero.
    pub recording_bytes: usize,
}

/// Names a limit in a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    Emits,
    EventBytes,
    EmittedBytes,
    LogLines,
    LogBytes,
    DbValueBytes,
    DbKeyBytes,
    DbWrittenBytes,
    ReplyBytes,
    ReplyHeaders,
    ReplyHeaderBytes,
    Effects,
    Requests,
    SentBytes,
    ReceivedBytes,
    ImageBytes,
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 30_000_000_000,
            wall_clock: Duration::from_secs(30),
            memory_bytes: 128 << 20,
            emits: 10_000,
            event_bytes: 512 << 10,
            emitted_bytes: 64 << 20,
            log_lines: 10_000,
            log_line_bytes: 64 << 10,
            log_bytes: 1 << 20,
            db_value_bytes: 64 << 10,
            db_key_bytes: 1 << 10,
            db_written_bytes: 16 << 20,
            reply_bytes: 6 << 20,
            reply_headers: 64,
            reply_header_bytes: 32 << 10,
            effects: 1_000,
            requests: 1_000,
            sent_bytes: 64 << 20,
            received_bytes: 64 << 20,
            recording_bytes: 0,
        }
    }
}

// === impl LimitKind ===

impl std::fmt::Display for LimitKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Emits => "events emitted in one run",
            Self::EventBytes => "bytes of one event",
            Self::EmittedBytes => "bytes emitted in one run",
            Self::LogLines => "log lines of one run",
            Self::LogBytes => "bytes logged in one run",
            Self::DbValueBytes => "bytes of one stored value",
            Self::DbKeyBytes => "bytes of one key",
            Self::DbWrittenBytes => "bytes stored in one run",
            Self::ReplyBytes => "bytes of a response",
            Self::ReplyHeaders => "headers of a response",
            Self::ReplyHeaderBytes => "bytes of a response's headers",
            Self::Effects => "effects of one run",
            Self::Requests => "outbound requests of one run",
            Self::SentBytes => "bytes sent in one run",
            Self::ReceivedBytes => "bytes received in one run",
            Self::ImageBytes => "bytes of memory that a loaded component takes",
        })
    }
}
