//! Deployed sources, their versions, and what an update would change.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Rest;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Source {
    pub id: String,
    pub name: String,
    pub name_slug: String,
    pub active: bool,
    pub component_id: String,
    pub configured_props: Map<String, Value>,
    pub created_at: i64,
    pub updated_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// A version of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SourceVersion {
    pub version: u32,
    pub current: bool,
    pub component_name: String,
    pub component_version: String,
    pub digest: String,
    pub configured_props: Map<String, Value>,
    pub created_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// What an update would change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Preview {
    pub version: u32,
    pub changes: Vec<PreviewedChange>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreviewedChange {
    pub what: String,
    #[serde(default)]
    pub before: Value,
    #[serde(default)]
    pub after: Value,
}

// === impl Source ===

impl Source {
    /// Counts what was replaced; 1 at servers that keep no versions.
    pub fn version(&self) -> u64 {
        self.rest.get("version").and_then(Value::as_u64).unwrap_or(1)
    }

    pub fn component_key(&self) -> Option<&str> {
        self.rest.get("component_key").and_then(Value::as_str)
    }

    pub fn component_name(&self) -> Option<&str> {
        self.rest.get("component_name").and_then(Value::as_str)
    }

    /// The folder it was applied from, or `dev`.
    pub fn project(&self) -> Option<&str> {
        self.rest.get("project").and_then(Value::as_str)
    }

    /// Where its HTTP interface listens, when it has one: the first of them.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoints().next().map(|(_, url)| url)
    }

    /// Where each HTTP interface listens, by its prop.
    pub fn endpoints(&self) -> impl Iterator<Item = (&str, &str)> {
        let url = |value| Value::get(value, "endpoint_url").and_then(Value::as_str);
        self.configured_props.iter().filter_map(move |(prop, value)| Some((prop.as_str(), url(value)?)))
    }
}
