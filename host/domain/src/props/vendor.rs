//! Prop types of other platforms, such as `$.airtable.baseId`: a text field with a picker of its own over there.
//!
//! The picker is not ours to show, but what it yields is plain JSON, so a component that names such a type runs
//! unchanged when the user types the value in.

use serde::{Deserialize, Serialize};

/// What is said about a prop of such a type wherever it is listed.
pub(super) const NOTE: &str = "this type comes from another platform: any JSON value is taken as it is";

/// Types without a `$.` in front that published components use. Those of the second group show or share something the
/// other platform has, and no value is asked for.
const WITH_VALUE: [&str; 2] = ["http_request", "sql"];
const WITHOUT_VALUE: [&str; 2] = ["alert", "dir"];

/// Ours: a name under them that we do not know is a typing mistake.
const RESERVED: [&str; 2] = ["interface", "service"];

/// The longest we have seen has 23 bytes; a limit keeps stored descriptions in proportion.
const NAME_BYTES: usize = 100;

/// The name of a type: `$.<vendor>.<type>`, with or without `[]`, or one of a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VendorType(String);

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the type of a prop")]
pub struct NotVendor(String);

// === impl VendorType ===

impl VendorType {
    pub fn parse(text: &str) -> Option<Self> {
        let is_word = WITH_VALUE.contains(&text) || WITHOUT_VALUE.contains(&text);
        (is_word || is_path(text)).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_list(&self) -> bool {
        self.0.ends_with("[]")
    }

    /// Whether a user has something to type in.
    pub fn has_value(&self) -> bool {
        !WITHOUT_VALUE.contains(&self.as_str())
    }
}

fn is_path(text: &str) -> bool {
    let Some(path) = text.strip_prefix("$.").filter(|_| text.len() <= NAME_BYTES) else {
        return false;
    };
    let parts: Vec<&str> = path.strip_suffix("[]").unwrap_or(path).split('.').collect();
    let is_reserved = parts.first().is_some_and(|vendor| RESERVED.contains(vendor));
    parts.len() >= 2 && !is_reserved && parts.into_iter().all(is_name)
}

fn is_name(part: &str) -> bool {
    part.starts_with(|first: char| first.is_ascii_alphabetic())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl TryFrom<String> for VendorType {
    type Error = NotVendor;

    fn try_from(text: String) -> Result<Self, NotVendor> {
        Self::parse(&text).ok_or(NotVendor(text))
    }
}

impl From<VendorType> for String {
    fn from(kind: VendorType) -> Self {
        kind.0
    }
}

#[cfg(test)]
impl schemars::JsonSchema for VendorType {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VendorType".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "description": "A type of another platform: `$.airtable.baseId`."})
    }
}
