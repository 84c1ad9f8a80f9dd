//! The answer to a run by hand: of a source, or of an action with everything it asked for.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{EventSummary, LogLine, Rest, is_false};

/// How a run by hand went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    pub ok: bool,
    #[serde(default)]
    pub emitted: Vec<EventSummary>,
    pub error: Option<Value>,
    /// What it gave to `respond`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// What an action gave to `$.flow.exit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// What an action gave to `$.send`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<Send>,
    #[serde(default)]
    pub logs: Vec<LogLine>,
    pub duration_ms: u64,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reply {
    pub status: u16,
    #[serde(default)]
    pub headers: Map<String, Value>,
    #[serde(default)]
    pub body: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_base64: bool,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exit {
    pub reason: Option<String>,
}

/// One call of `$.send`, and how it went.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Send {
    pub kind: String,
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(flatten)]
    pub rest: Rest,
}
