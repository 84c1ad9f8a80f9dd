//! Traces and logs at an OpenTelemetry collector: a request, its run, what that logged and its delivery, under one trace id.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rig::receiver::{Answer, Inbox, Receiver};
use serde_json::json;

use crate::flow::{Deployed, EMIT_BODY, World};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Spans of this trace, until there are as many.
async fn spans_of(trace: &str, collector: &mut Inbox, wanted: usize) -> Vec<Span> {
    let mut found = Vec::new();
    while found.len() < wanted {
        let received = collector.next().await;
        assert_eq!(received.header("content-type"), "application/x-protobuf");
        if received.path != "/v1/traces" {
            continue;
        }
        let batch = ExportTraceServiceRequest::decode(received.body).unwrap();
        for spans in batch.resource_spans {
            let resource = spans.resource.unwrap().attributes;
            let service = resource.iter().find(|attribute| attribute.key == "service.name").unwrap();
            let is_ours = |value: &Attribute| matches!(value, Attribute::StringValue(name) if name == "wellspring");
            assert!(service.value.as_ref().unwrap().value.as_ref().is_some_and(is_ours));
            let spans = spans.scope_spans.into_iter().flat_map(|scope| scope.spans);
            found.extend(spans.filter(|span| hex(&span.trace_id) == trace));
        }
    }
    found
}

/// The first record whose text holds this.
async fn log_with(text: &str, collector: &mut Inbox) -> LogRecord {
    loop {
        let received = collector.next().await;
        if received.path != "/v1/logs" {
            continue;
        }
        let batch = ExportLogsServiceRequest::decode(received.body).unwrap();
        let mut logs =
            batch.resource_logs.into_iter().flat_map(|logs| logs.scope_logs).flat_map(|logs| logs.log_records);
        let body = |log: &LogRecord| match log.body.as_ref().and_then(|body| body.value.as_ref()) {
            Some(Attribute::StringValue(text)) => text.clone(),
            _ => String::new(),
        };
        if let Some(found) = logs.find(|log| body(log).contains(text)) {
            return found;
        }
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", spans.iter().map(|span| &span.name).collect::<Vec<_>>()))
}

async fn send(world: &World, source: &Deployed, traceparent: &str) {
    let headers = [("content-type", "application/json"), ("traceparent", traceparent)];
    let reply = world.client.call("POST", &source.endpoint, &headers, r#"{"n": 1}"#.into()).await.unwrap();
    assert_eq!(reply.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_its_run_and_its_delivery_are_one_trace_at_the_collector() {
    let (collector, mut spans) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let world = World::with(&["--otlp-endpoint", &collector.url("")]).await;
    let source = world.endpoint(EMIT_BODY).await;
    let mut webhook = world.webhook(&source, |_| Answer::status(200)).await;

    send(&world, &source, &format!("00-{TRACE}-{CALLER}-01")).await;
    let delivery = webhook.inbox.next().await;
    let found = spans_of(TRACE, &mut spans, 3).await;

    let (request, run) = (named(&found, "POST plugin"), named(&found, "run"));
    let delivered = named(&found, "deliver to webhook");
    assert_eq!(hex(&request.parent_span_id), CALLER);
    assert_eq!(run.parent_span_id, request.span_id);
    assert_eq!(delivered.parent_span_id, run.span_id);
    assert_eq!(delivery.header("traceparent"), format!("00-{TRACE}-{}-01", hex(&delivered.span_id)));
    assert!(run.start_time_unix_nano >= request.start_time_unix_nano, "{run:?} {request:?}");
    for span in &found {
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
    }
    let scrape = world.client.get("/metrics").await.unwrap().text();
    assert!(super::value(&scrape, "wellspring_spans_total{state=\"exported\"}") >= 3.0);
    assert!(super::value(&scrape, "wellspring_spans_total{state=\"dropped\"}") < 0.5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_sent_when_the_server_stops_and_a_collector_that_is_gone_holds_nothing_up() {
    let (collector, mut spans) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let world = World::with(&["--otlp-endpoint", &collector.url("")]).await;
    let source = world.endpoint(EMIT_BODY).await;
    send(&world, &source, &format!("00-{TRACE}-{CALLER}-01")).await;

    assert!(world.served.stop().await.success());
    named(&spans_of(TRACE, &mut spans, 2).await, "run");

    drop(collector);
    let mut place = world.place;
    // Nothing listens there.
    *place.options.last_mut().unwrap() = "http://127.0.0.1:9".to_owned();
    let served = place.start().await;
    let reply = served.client().trigger(&source.endpoint, &json!({"n": 2})).await.unwrap();
    assert_eq!(reply.status, 200);
    assert!(served.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_component_logs_is_a_record_in_the_trace_of_its_run() {
    let (collector, mut inbox) = Receiver::with_inbox(|_| Answer::status(200)).await;
    let world = World::with(&["--otlp-endpoint", &collector.url("")]).await;
    let source = world.endpoint(r#"run(event) { console.warn("planted", event.body.n); }"#).await;
    send(&world, &source, &format!("00-{TRACE}-{CALLER}-01")).await;

    let line = log_with("planted", &mut inbox).await;
    assert_eq!((hex(&line.trace_id).as_str(), line.severity_text.as_str()), (TRACE, "WARN"));
    assert_ne!(hex(&line.span_id), CALLER);
    let keys: Vec<&str> = line.attributes.iter().map(|attribute| attribute.key.as_str()).collect();
    assert_eq!(keys, ["wellspring.run.id", "wellspring.emitter.id"]);
    let scrape = world.client.get("/metrics").await.unwrap().text();
    assert!(super::value(&scrape, "wellspring_log_records_total{state=\"dropped\"}") < 0.5);
}
