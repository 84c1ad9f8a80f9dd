//! Spans and log records of the platform as the requests of OTLP, and what a collector says to them.
//!
//! Field numbers are those of <https://github.com/open-telemetry/opentelemetry-proto>, which never change. A test reads what is
//! written here with messages that were generated from it.

use domain::outcome::Level;
use domain::trace::TraceContext;
use platform::ports::{Attribute, LogRecord, Span, SpanKind};

use super::protobuf::{Fields, Message, Value};

const SCOPE: &str = "wellspring";
const STATUS_ERROR: u64 = 2;
/// Of a trace that is recorded.
const SAMPLED: u32 = 1;
/// Whether the parent is elsewhere is known, and it is.
const HAS_IS_REMOTE: u32 = 1 << 8;
const IS_REMOTE: u32 = 1 << 9;

/// An `ExportTraceServiceRequest`.
pub(super) fn traces(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    request(resource, spans, write_span)
}

/// An `ExportLogsServiceRequest`.
pub(super) fn logs(resource: &[(String, String)], records: &[LogRecord]) -> Vec<u8> {
    request(resource, records, write_log)
}

/// How many a collector refused of a request that it took, and why.
pub(super) fn refused(answer: &[u8]) -> Option<(u64, String)> {
    let partial = Fields::of(answer).find_map(|field| match field {
        (1, Value::Bytes(partial)) => Some(partial),
        _ => None,
    })?;
    let (mut count, mut reason) = (0, String::new());
    for field in Fields::of(partial) {
        match field {
            (1, Value::Number(number)) => count = number,
            (2, Value::Bytes(text)) => reason = String::from_utf8_lossy(text).into_owned(),
            _ => {}
        }
    }
    (count > 0).then_some((count, reason))
}

/// Both requests are alike: one resource, one scope in it, and a list.
fn request<T>(resource: &[(String, String)], items: &[T], write: impl Fn(&mut Message, &T)) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |message| {
            for (name, value) in resource {
                message.message(1, |pair| write_pair(pair, name, |value_of| value_of.chosen_text(1, value)));
            }
        });
        of_resource.message(2, |of_scope| {
            of_scope.message(1, |scope| scope.text(1, SCOPE));
            for item in items {
                of_scope.message(2, |message| write(message, item));
            }
        });
    });
    request.into_bytes()
}

fn write_span(message: &mut Message, span: &Span) {
    let (parent, TraceContext { trace_id, span_id }) = (span.parent.bytes(), span.context);
    let has_parent = parent != [0; 8];
    message.bytes(1, &trace_id.bytes());
    message.bytes(2, &span_id.bytes());
    if has_parent {
        message.bytes(4, &parent);
    }
    message.text(5, &span.name);
    message.number(6, kind(span.kind));
    message.fixed64(7, span.begun_us.saturating_mul(1000));
    message.fixed64(8, span.ended_us.max(span.begun_us).saturating_mul(1000));
    write_attributes(message, 9, &span.attributes);
    if let Some(failure) = &span.failure {
        message.message(15, |status| {
            status.text(2, failure);
            status.number(3, STATUS_ERROR);
        });
    }
    // Only a request from outside has a parent elsewhere.
    let is_remote = span.kind == SpanKind::Server && has_parent;
    message.fixed32(16, SAMPLED | HAS_IS_REMOTE | if is_remote { IS_REMOTE } else { 0 });
}

fn write_log(message: &mut Message, record: &LogRecord) {
    let at_ns = record.at_ms.saturating_mul(1_000_000);
    let (number, name) = match record.level {
        Level::Debug => (5, "DEBUG"),
        Level::Info => (9, "INFO"),
        Level::Warn => (13, "WARN"),
        Level::Error => (17, "ERROR"),
    };
    message.fixed64(1, at_ns);
    message.number(2, number);
    message.text(3, name);
    message.message(5, |body| body.chosen_text(1, &record.message));
    write_attributes(message, 6, &record.attributes);
    let TraceContext { trace_id, span_id } = record.context;
    if trace_id.bytes() != [0; 16] {
        message.fixed32(8, SAMPLED);
        message.bytes(9, &trace_id.bytes());
        message.bytes(10, &span_id.bytes());
    }
    message.fixed64(11, at_ns);
}

fn write_attributes(message: &mut Message, field: u64, attributes: &[(&'static str, Attribute)]) {
    for (name, attribute) in attributes {
        message.message(field, |pair| {
            write_pair(pair, name, |value| match attribute {
                Attribute::Text(text) => value.chosen_text(1, text),
                // A negative number takes all ten bytes, as the format has it.
                Attribute::Number(number) => value.chosen_number(3, *number as u64),
            });
        });
    }
}

fn write_pair(pair: &mut Message, name: &str, value: impl FnOnce(&mut Message)) {
    pair.text(1, name);
    pair.message(2, value);
}

fn kind(kind: SpanKind) -> u64 {
    match kind {
        SpanKind::Internal => 1,
        SpanKind::Server => 2,
        SpanKind::Client => 3,
        SpanKind::Consumer => 5,
    }
}

#[cfg(test)]
mod tests;
