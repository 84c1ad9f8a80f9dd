//! What the API tells of replays.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A recorded run, run again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replay {
    pub run_id: String,
    pub verdict: String,
    pub differences: Vec<Difference>,
    pub replayed: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<HostCall>,
}

/// One question of a run to its host, and the answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostCall {
    pub kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    pub answer: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Difference {
    pub what: String,
    pub recorded: Value,
    pub replayed: Value,
}

/// How recorded runs go on new code.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shadow {
    pub runs: usize,
    pub unchanged: usize,
    pub changed: usize,
    pub diverged: usize,
    pub new_errors: usize,
    pub fuel_change_percent: f64,
    pub details: Vec<Replay>,
}

// === impl Replay ===

impl Replay {
    /// The same, but perhaps for its fuel.
    pub fn is_unchanged(&self) -> bool {
        ["identical", "only_fuel"].contains(&self.verdict.as_str())
    }

    pub fn shown_verdict(&self) -> &str {
        match self.verdict.as_str() {
            "identical" => "identical: it did the same, down to its fuel",
            "only_fuel" => "the same, with other fuel",
            "different" => "different",
            "diverged" => "diverged: it asked for something that was not recorded",
            other => other,
        }
    }
}
