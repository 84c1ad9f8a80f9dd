//! Saved components, the props they declare, and the options of a prop.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Rest, is_false};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Component {
    pub id: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub version: String,
    #[serde(rename = "type", default = "kind_of_old_servers")]
    pub kind: String,
    #[serde(default)]
    pub configurable_props: Vec<Prop>,
    pub created_at: i64,
    pub updated_at: i64,
    #[serde(flatten)]
    pub rest: Rest,
}

/// One that a component declares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prop {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Value>>,
    #[serde(rename = "remoteOptions", default, skip_serializing_if = "is_false")]
    pub has_remote_options: bool,
    #[serde(flatten)]
    pub rest: Rest,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Options {
    pub options: Vec<Value>,
    #[serde(default)]
    pub context: Value,
}

// === impl Prop ===

impl Prop {
    pub fn label(&self) -> &str {
        self.label.as_deref().filter(|label| !label.is_empty()).unwrap_or(&self.name)
    }

    /// What the platform gives by itself.
    pub fn is_provided(&self) -> bool {
        matches!(self.kind.as_str(), "$.interface.http" | "$.service.db" | "$.interface.apphook")
    }

    /// It has to be given, and is not.
    pub fn is_missing(&self, given: &Map<String, Value>) -> bool {
        let has_to_be_given = !(self.is_provided() || self.optional || self.default.is_some());
        has_to_be_given && !given.contains_key(&self.name)
    }
}

fn kind_of_old_servers() -> String {
    "source".to_owned()
}
