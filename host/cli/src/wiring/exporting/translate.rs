//! Spans and log records of the platform, as OpenTelemetry's crates encode them.

use std::time::{Duration, UNIX_EPOCH};

use domain::outcome::Level;
use domain::trace::TraceContext;
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::trace::{SpanContext, SpanKind as OtelKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, SpanId, TraceId};
use opentelemetry_sdk::logs::{SdkLogRecord, SdkLogger, SdkLoggerProvider};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use platform::ports::{Attribute, LogRecord, Span, SpanKind};

/// Makes the SDK's records, which have no constructor of their own. Nothing is sent through it.
pub(super) fn logger() -> SdkLogger {
    SdkLoggerProvider::builder().build().logger("wellspring")
}

pub(super) fn span(span: Span) -> SpanData {
    let at = |us: u64| UNIX_EPOCH + Duration::from_micros(us);
    let parent = span.parent.bytes();
    let (trace, id) = ids(span.context);
    SpanData {
        span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::NONE),
        parent_span_id: SpanId::from_bytes(parent),
        // Only a request from outside has a parent elsewhere.
        parent_span_is_remote: span.kind == SpanKind::Server && parent != [0; 8],
        span_kind: match span.kind {
            SpanKind::Server => OtelKind::Server,
            SpanKind::Client => OtelKind::Client,
            SpanKind::Consumer => OtelKind::Consumer,
            SpanKind::Internal => OtelKind::Internal,
        },
        name: span.name,
        start_time: at(span.begun_us),
        end_time: at(span.ended_us.max(span.begun_us)),
        attributes: span.attributes.into_iter().map(attribute).collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: span.failure.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder("wellspring").build(),
    }
}

pub(super) fn log(logger: &SdkLogger, log: LogRecord) -> SdkLogRecord {
    let mut record = logger.create_log_record();
    let at = UNIX_EPOCH + Duration::from_millis(log.at_ms);
    record.set_timestamp(at);
    record.set_observed_timestamp(at);
    let (number, text) = match log.level {
        Level::Debug => (Severity::Debug, "DEBUG"),
        Level::Info => (Severity::Info, "INFO"),
        Level::Warn => (Severity::Warn, "WARN"),
        Level::Error => (Severity::Error, "ERROR"),
    };
    record.set_severity_number(number);
    record.set_severity_text(text);
    record.set_body(AnyValue::from(log.message));
    for (name, found) in log.attributes {
        match found {
            Attribute::Text(text) => record.add_attribute(name, text),
            Attribute::Number(number) => record.add_attribute(name, number),
        }
    }
    let (trace, span) = ids(log.context);
    if trace != TraceId::INVALID {
        record.set_trace_context(trace, span, Some(TraceFlags::SAMPLED));
    }
    record
}

fn attribute((name, value): (&'static str, Attribute)) -> KeyValue {
    match value {
        Attribute::Text(text) => KeyValue::new(name, text),
        Attribute::Number(number) => KeyValue::new(name, number),
    }
}

fn ids(context: TraceContext) -> (TraceId, SpanId) {
    (TraceId::from_bytes(context.trace_id.bytes()), SpanId::from_bytes(context.span_id.bytes()))
}
