//! Events, the streams they are in, and lines of a log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Rest;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventSummary {
    pub id: String,
    pub indexed_at_ms: i64,
    pub event: Value,
    pub metadata: Metadata,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Metadata {
    pub emit_id: String,
    pub name: String,
    pub emitter_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(flatten)]
    pub rest: Rest,
}

/// A stream of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stream {
    pub name: String,
    /// Those that are kept.
    pub events: u64,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub at_ms: i64,
    pub level: String,
    pub message: String,
    #[serde(flatten)]
    pub rest: Rest,
}
