//! One id for everything that a trigger from outside caused, across sources, workflows and deliveries.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 16 bytes, as W3C Trace Context has it; zeros mean that there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trace id is 32 hexadecimal digits, not all of them zero")]
pub struct TraceIdError;

// === impl TraceId ===

impl TraceId {
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(random)
    }

    pub fn parse(text: &str) -> Result<Self, TraceIdError> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.filter(|number| *number != 0).map(|number| Self(number.to_be_bytes())).ok_or(TraceIdError)
    }

    /// That of a `traceparent` header: `00-<trace id>-<parent id>-<flags>`.
    pub fn of_traceparent(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace_id, parent_id) = (parts.next()?, parts.next()?, parts.next()?);
        let is_known = version.len() == 2 && version != "ff" && parent_id.len() == 16 && parts.next().is_some();
        Self::parse(trace_id).ok().filter(|_| is_known)
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    pub fn is_none(&self) -> bool {
        self.0 == [0; 16]
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::TraceId;

    #[test]
    fn a_trace_id_is_read_back_as_it_was_written() {
        let id = TraceId::from_random([0xab; 16]);

        assert_eq!(TraceId::parse(&id.to_string()), Ok(id));
        assert_eq!(id.to_string(), "ab".repeat(16));
    }

    #[test]
    fn a_traceparent_is_taken_only_when_it_is_well_formed() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        for (header, is_taken) in [
            (format!("00-{id}-00f067aa0ba902b7-01"), true),
            (format!("cc-{id}-00f067aa0ba902b7-01-more"), true),
            (format!("ff-{id}-00f067aa0ba902b7-01"), false),
            (format!("00-{id}-00f067aa0ba902b7"), false),
            (format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), false),
            (format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()), false),
            (id.to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(TraceId::of_traceparent(&header).is_some(), is_taken, "{header}");
        }
    }
}
