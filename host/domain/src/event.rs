//! The entries of an emitter's streams: events and log lines.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::outcome::{Level, LogLine};

/// One emitted event. Its id is the store's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub event: Json,
    pub metadata: Metadata,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    pub emit_id: String,
    /// The stream; empty for the default one.
    pub name: String,
    pub emitter_id: String,
    /// The `id` given to `$emit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
    /// The run that emitted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// One line of a source's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub run_id: String,
    pub at_ms: u64,
    pub level: Level,
    pub message: String,
}

// === impl LogEntry ===

impl LogEntry {
    pub fn new(run_id: &str, line: LogLine) -> Self {
        Self { run_id: run_id.to_owned(), at_ms: line.at_ms, level: line.level, message: line.message }
    }
}
