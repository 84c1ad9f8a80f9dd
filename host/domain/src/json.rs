//! JSON that only passes through: kept as text, never taken apart.
//!
//! An event is read by the component that gets it and by whoever it is delivered to. In between it is moved and stored,
//! and taking it apart for that would cost more than all the rest.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Records wrap what passes through a few times, and readers of JSON stop at 128 levels.
pub const DEPTH_MAXIMUM: usize = 100;

#[derive(Clone)]
pub struct Json(Box<RawValue>);

// === impl Json ===

impl Json {
    /// A text that is JSON, and nests no deeper than everybody can read.
    pub fn parse(text: &[u8]) -> Option<&RawValue> {
        let parsed: &RawValue = serde_json::from_slice(text).ok()?;
        is_readable(parsed.get()).then_some(parsed)
    }

    /// Whether it nests no deeper than [`DEPTH_MAXIMUM`].
    pub fn is_readable(&self) -> bool {
        is_readable(self.as_str())
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub fn to_value(&self) -> Value {
        // It was parsed before, and its depth is bounded.
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

fn is_readable(json: &str) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' if depth == DEPTH_MAXIMUM => return false,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

impl From<Box<RawValue>> for Json {
    fn from(json: Box<RawValue>) -> Self {
        Self(json)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        // A value always has a text.
        Self(RawValue::from_string(value.to_string()).unwrap_or_default())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.to_value() == other.to_value()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// By way of a value: text as it stands cannot be had inside of enums that are told apart by a field.
impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests;
