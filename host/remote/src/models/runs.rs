//! Records of runs.

use serde::{Deserialize, Serialize};

use super::Rest;

/// One run of a source, workflow or component.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: String,
    pub emitter_id: String,
    pub version: String,
    pub trigger: RunTrigger,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    pub state: String,
    pub queued_at_ms: i64,
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    pub fuel: u64,
    pub cpu_us: u64,
    pub peak_memory_bytes: u64,
    #[serde(default)]
    pub sent_bytes: u64,
    #[serde(default)]
    pub received_bytes: u64,
    #[serde(default)]
    pub requests: Listed<RequestMade>,
    #[serde(default)]
    pub emits: Listed<String>,
    #[serde(default)]
    pub writes: Listed<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunTrigger {
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The first of a list, and how many there were.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed<T> {
    pub count: usize,
    pub first: Vec<T>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestMade {
    pub method: String,
    pub host: String,
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub ms: u64,
}

/// Why a run failed, and what caused that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFailure {
    pub name: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<RunFailure>>,
    #[serde(flatten)]
    pub rest: Rest,
}

// === impl RunRecord ===

impl RunRecord {
    pub fn duration_ms(&self) -> i64 {
        self.ended_at_ms.saturating_sub(self.started_at_ms)
    }
}

// === impl RunTrigger ===

impl RunTrigger {
    /// `timer every_minute`
    pub fn shown(&self) -> String {
        match &self.id {
            Some(id) => format!("{} {id}", self.kind),
            None => self.kind.clone(),
        }
    }
}

// === impl Listed ===

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new() }
    }
}
