//! Spans and log records of OpenTelemetry, as the platform makes them: data about something that has ended.

use std::borrow::Cow;

use domain::outcome::Level;
use domain::trace::{SpanId, TraceContext};

/// Obligations: never blocks, never fails, and holds a bounded number of bytes; what does not fit is dropped and counted.
pub trait Telemetry: Send + Sync {
    fn record(&self, span: Span);

    fn log(&self, record: LogRecord);
}

/// A line that a component logged.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// The span of the run that logged it.
    pub context: TraceContext,
    pub at_ms: u64,
    pub level: Level,
    pub message: String,
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub context: TraceContext,
    pub parent: SpanId,
    pub kind: SpanKind,
    /// From the code or the table of routes: names are few.
    pub name: Cow<'static, str>,
    /// Microseconds since the Unix epoch.
    pub begun_us: u64,
    pub ended_us: u64,
    pub attributes: Vec<(&'static str, Attribute)>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// The part it plays between this server and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that was answered.
    Server,
    /// A request that was sent.
    Client,
    /// A job that was taken from the queue.
    Consumer,
    Internal,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Text(String),
    Number(i64),
}

// === impl Attribute ===

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
