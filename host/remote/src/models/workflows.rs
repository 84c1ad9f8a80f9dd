//! Deployed workflows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Rest;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workflow {
    pub id: String,
    pub name: String,
    #[serde(flatten)]
    pub rest: Rest,
}

// === impl Workflow ===

impl Workflow {
    /// The folder it was applied from, or `dev`.
    pub fn project(&self) -> Option<&str> {
        self.rest.get("project").and_then(Value::as_str)
    }

    pub fn version(&self) -> u64 {
        self.rest.get("version").and_then(Value::as_u64).unwrap_or(1)
    }

    /// Where its HTTP triggers listen.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        let triggers = self.rest.get("triggers").and_then(Value::as_array).into_iter().flatten();
        triggers.filter_map(|trigger| trigger.get("endpoint_url")?.as_str())
    }
}
