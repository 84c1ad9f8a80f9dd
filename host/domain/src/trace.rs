//! Ids that tie together what a trigger from outside caused, across sources, workflows and deliveries: W3C Trace Context.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 16 bytes, as W3C Trace Context has it; zeros mean that there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// One step of a trace: a request, a run, a delivery. 8 bytes; zeros mean that there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

/// A step, and the trace it is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceContext {
    pub trace_id: TraceId,
    pub span_id: SpanId,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trace id is 32 hexadecimal digits, and the id of a span 16, not all of them zero")]
pub struct TraceIdError;

// === impl TraceId ===

impl TraceId {
    pub fn from_random(random: [u8; 16]) -> Self {
        Self(random)
    }

    pub fn parse(text: &str) -> Result<Self, TraceIdError> {
        let number = parse_hex(text, 32).ok_or(TraceIdError)?;
        Ok(Self(number.to_be_bytes()))
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    pub fn is_none(&self) -> bool {
        self.0 == [0; 16]
    }

    pub fn bytes(self) -> [u8; 16] {
        self.0
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

// === impl SpanId ===

impl SpanId {
    pub fn from_random(random: [u8; 8]) -> Self {
        Self(random)
    }

    pub fn parse(text: &str) -> Result<Self, TraceIdError> {
        let number = parse_hex(text, 16).and_then(|number| u64::try_from(number).ok()).ok_or(TraceIdError)?;
        Ok(Self(number.to_be_bytes()))
    }

    pub fn is_none(&self) -> bool {
        self.0 == [0; 8]
    }

    pub fn bytes(self) -> [u8; 8] {
        self.0
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SpanId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

// === impl TraceContext ===

impl TraceContext {
    /// That of a `traceparent` header: `00-<trace id>-<span id>-<flags>`.
    pub fn of_traceparent(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace_id, span_id) = (parts.next()?, parts.next()?, parts.next()?);
        let is_known = version.len() == 2 && version != "ff" && parts.next().is_some();
        let context = Self { trace_id: TraceId::parse(trace_id).ok()?, span_id: SpanId::parse(span_id).ok()? };
        is_known.then_some(context)
    }

    /// The header for a receiver, when there is a trace. The flag says that it is recorded, as it is: in the records of
    /// runs, whether or not spans are exported. Without it most receivers would not record their part.
    pub fn to_traceparent(self) -> Option<String> {
        let is_whole = !(self.trace_id.is_none() || self.span_id.is_none());
        is_whole.then(|| format!("00-{}-{}-01", self.trace_id, self.span_id))
    }
}

/// So many digits in lower case, not all of them zero.
fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex.then(|| u128::from_str_radix(text, 16).ok()).flatten().filter(|number| *number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back_as_they_were_written() {
        let (trace_id, span_id) = (TraceId::from_random([0xab; 16]), SpanId::from_random([0xcd; 8]));

        assert_eq!(TraceId::parse(&trace_id.to_string()), Ok(trace_id));
        assert_eq!(trace_id.to_string(), "ab".repeat(16));
        assert_eq!(SpanId::parse(&span_id.to_string()), Ok(span_id));
        assert_eq!(span_id.to_string(), "cd".repeat(8));
    }

    #[test]
    fn a_traceparent_is_taken_only_when_it_is_well_formed() {
        let id = "4bf92f3577b34da6a3ce929d0e0e4736";
        for (header, is_taken) in [
            (format!("00-{id}-00f067aa0ba902b7-01"), true),
            (format!("cc-{id}-00f067aa0ba902b7-01-more"), true),
            (format!("ff-{id}-00f067aa0ba902b7-01"), false),
            (format!("00-{id}-00f067aa0ba902b7"), false),
            (format!("00-{id}-0000000000000000-01"), false),
            (format!("00-{id}-00f067aa0ba902bx-01"), false),
            (format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), false),
            (format!("00-{}-00f067aa0ba902b7-01", id.to_uppercase()), false),
            (id.to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(TraceContext::of_traceparent(&header).is_some(), is_taken, "{header}");
        }
    }

    #[test]
    fn a_traceparent_is_written_as_it_is_read_and_only_when_there_is_a_trace() {
        let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = TraceContext::of_traceparent(header).unwrap();

        assert_eq!(context.to_traceparent().as_deref(), Some(header));
        assert_eq!(TraceContext { span_id: SpanId::default(), ..context }.to_traceparent(), None);
        assert_eq!(TraceContext::default().to_traceparent(), None);
    }
}
