//! JSON that only passes through: kept as text, never taken apart.
//!
//! An event is parsed by the component that gets it and by the receiver of a delivery. In between it is only moved and
//! stored, and parsing it for that would cost more than all other work of the host.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Clone)]
pub struct Json(Box<RawValue>);

/// Why a text is not JSON that every reader takes, with the place.
#[derive(Debug, thiserror::Error)]
pub enum JsonFault {
    #[error("it is not UTF-8 at byte {at}")]
    NotUtf8 { at: usize },
    #[error(transparent)]
    Malformed(serde_json::Error),
}

// === impl Json ===

impl Json {
    /// A text that is JSON which common parsers read; see [`Json::is_readable`].
    pub fn parse(text: &[u8], levels: usize) -> Result<&RawValue, JsonFault> {
        let text = std::str::from_utf8(text).map_err(|error| JsonFault::NotUtf8 { at: error.valid_up_to() + 1 })?;
        let parsed: &RawValue = serde_json::from_str(text).map_err(JsonFault::Malformed)?;
        read(parsed.get(), levels).map(|()| parsed)
    }

    /// Whether every reader takes it: it nests no deeper than `levels` (`limits::NESTING_MAXIMUM` at most), its numbers are
    /// not beyond all bounds, and its texts hold whole characters. JSON as such allows all of that.
    pub fn is_readable(&self, levels: usize) -> bool {
        read(self.as_str(), levels).is_ok()
    }

    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub fn to_value(&self) -> Value {
        // It was read before.
        serde_json::from_str(self.as_str()).unwrap_or_default()
    }
}

/// Whether a value that was read nests deeper than so many levels.
pub fn nests_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| levels.checked_sub(1).is_none_or(|levels| nests_deeper(inner, levels));
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(deeper),
        _ => false,
    }
}

fn read(json: &str, levels: usize) -> Result<(), JsonFault> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let read = Reading { levels, maximum: levels }.deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(JsonFault::Malformed)
}

/// Reads everything and keeps nothing.
#[derive(Clone, Copy)]
struct Reading {
    levels: usize,
    /// Those that it began with.
    maximum: usize,
}

// === impl Reading ===

impl Reading {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        let Self { levels, maximum } = self;
        let too_deep = || E::custom(format_args!("it nests deeper than {maximum} levels"));
        levels.checked_sub(1).map(|levels| Self { levels, maximum }).ok_or_else(too_deep)
    }
}

impl<'de> DeserializeSeed<'de> for Reading {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let deeper = self.deeper()?;
        while items.next_element_seed(deeper)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let deeper = self.deeper()?;
        while fields.next_key_seed(deeper)?.is_some() {
            fields.next_value_seed(deeper)?;
        }
        Ok(())
    }
}

// === impl Json ===

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
