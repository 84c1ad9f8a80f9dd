//! Requests of OTLP, read with messages that were generated from the specification.

use domain::outcome::Level;
use domain::trace::{SpanId, TraceContext, TraceId};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Status;
use platform::ports::{Attribute, LogRecord, Span, SpanKind};
use prost::Message;

use super::{logs, refused, traces};

fn context() -> TraceContext {
    TraceContext {
        trace_id: TraceId::parse("4bf92f3577b34da6a3ce929d0e0e4736").unwrap(),
        span_id: SpanId::parse("00f067aa0ba902b7").unwrap(),
    }
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn resource() -> Vec<(String, String)> {
    vec![("service.name".to_owned(), "wellspring".to_owned()), ("empty".to_owned(), String::new())]
}

fn span(kind: SpanKind, failure: Option<&str>) -> Span {
    Span {
        context: context(),
        parent: context().span_id,
        kind,
        name: "run".into(),
        begun_us: 1_700_000_000_000_001,
        ended_us: 1_700_000_000_000_003,
        attributes: vec![("text", "".into()), ("zero", 0_u64.into()), ("below", Attribute::Number(-1))],
        failure: failure.map(str::to_owned),
    }
}

#[test]
fn spans_are_what_the_specification_reads() {
    let spans = [span(SpanKind::Server, None), span(SpanKind::Internal, Some("threw"))];
    let read = ExportTraceServiceRequest::decode(&*traces(&resource(), &spans)).unwrap();

    let of_resource = &read.resource_spans[0];
    let expected = [
        pair("service.name", Value::StringValue("wellspring".into())),
        pair("empty", Value::StringValue(String::new())),
    ];
    assert_eq!(of_resource.resource.as_ref().unwrap().attributes, expected);
    let scope = &of_resource.scope_spans[0];
    assert_eq!(scope.scope.as_ref().unwrap().name, "wellspring");
    let [request, run] = &scope.spans[..] else { panic!("{scope:?}") };
    assert_eq!(request.trace_id, context().trace_id.bytes());
    assert_eq!(request.span_id, context().span_id.bytes());
    assert_eq!(request.parent_span_id, context().span_id.bytes());
    assert_eq!((request.name.as_str(), request.kind, run.kind), ("run", 2, 1));
    assert_eq!(request.start_time_unix_nano, 1_700_000_000_000_001_000);
    assert_eq!(request.end_time_unix_nano, 1_700_000_000_000_003_000);
    let values = [Value::StringValue(String::new()), Value::IntValue(0), Value::IntValue(-1)];
    let expected: Vec<_> =
        ["text", "zero", "below"].into_iter().zip(values).map(|(key, value)| pair(key, value)).collect();
    assert_eq!(request.attributes, expected);
    assert_eq!((request.flags, run.flags), (0x301, 0x101), "sampled; the parent of a request is elsewhere");
    assert_eq!((&request.status, &run.status), (&None, &Some(Status { message: "threw".into(), code: 2 })));
}

#[test]
fn log_records_are_what_the_specification_reads() {
    let record = |context: TraceContext, level: Level| LogRecord {
        context,
        at_ms: 1_700_000_000_001,
        level,
        message: "said".into(),
        attributes: vec![("n", 7_u64.into())],
    };
    let records = [record(context(), Level::Warn), record(TraceContext::default(), Level::Debug)];
    let read = ExportLogsServiceRequest::decode(&*logs(&resource(), &records)).unwrap();

    let [line, alone] = &read.resource_logs[0].scope_logs[0].log_records[..] else { panic!("{read:?}") };
    assert_eq!(
        (line.time_unix_nano, line.observed_time_unix_nano),
        (1_700_000_000_001_000_000, 1_700_000_000_001_000_000)
    );
    assert_eq!((line.severity_number, line.severity_text.as_str(), alone.severity_number), (13, "WARN", 5));
    assert_eq!(line.body, Some(AnyValue { value: Some(Value::StringValue("said".into())) }));
    assert_eq!(line.attributes, [pair("n", Value::IntValue(7))]);
    assert_eq!(
        (&line.trace_id[..], &line.span_id[..]),
        (&context().trace_id.bytes()[..], &context().span_id.bytes()[..])
    );
    assert_eq!((line.flags, alone.flags, alone.trace_id.len()), (1, 0, 0));
}

#[test]
fn what_a_collector_refused_is_read_from_its_answer() {
    let answer = |partial_success| ExportTraceServiceResponse { partial_success }.encode_to_vec();
    let partial = |rejected_spans, error_message: &str| {
        Some(ExportTracePartialSuccess { rejected_spans, error_message: error_message.to_owned() })
    };

    assert_eq!(refused(&answer(partial(3, "too old"))), Some((3, "too old".to_owned())));
    assert_eq!(refused(&answer(partial(0, "a hint"))), None);
    assert_eq!(refused(&answer(None)), None);
    assert_eq!(refused(b"<html>"), None);
}
