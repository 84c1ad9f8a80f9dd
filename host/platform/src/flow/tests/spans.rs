//! How spans of a request, its run and what that causes hang together.

use std::sync::{Arc, Mutex};

use domain::outcome::Level;
use domain::trace::{SpanId, TraceContext};
use serde_json::json;

use super::Stage;
use crate::fake::{World, threw};
use crate::flow::Config;
use crate::ports::{LogRecord, Span, SpanKind, Telemetry};
use crate::spans::{Answered, within};

const HOOK: &str = "https://example.com/hook";
const SENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[derive(Clone, Default)]
struct Recorded(Arc<Mutex<Vec<Span>>>, Arc<Mutex<Vec<LogRecord>>>);

impl Telemetry for Recorded {
    fn record(&self, span: Span) {
        self.0.lock().unwrap().push(span);
    }

    fn log(&self, record: LogRecord) {
        self.1.lock().unwrap().push(record);
    }
}

impl Recorded {
    /// The only span of this name, of so many that there may be.
    fn only(&self, name: &str) -> Span {
        let spans = self.0.lock().unwrap();
        let mut found = spans.iter().filter(|span| span.name == name);
        let span = found.next().unwrap_or_else(|| panic!("no {name} in {spans:#?}"));
        assert!(found.next().is_none(), "{name} twice in {spans:#?}");
        span.clone()
    }

    fn run_of(&self, emitter: &str) -> Span {
        let spans = self.0.lock().unwrap();
        let of = |span: &&Span| span.attributes.contains(&("wellspring.emitter.id", emitter.into()));
        spans.iter().filter(|span| span.name == "run").find(of).expect("a run of it").clone()
    }
}

async fn stage() -> (Stage, Recorded) {
    let recorded = Recorded::default();
    let world = World::with_telemetry(Arc::new(recorded.clone()));
    (Stage::with(world, Config::default()).await, recorded)
}

#[tokio::test]
async fn a_request_its_run_and_its_deliveries_are_one_trace_with_their_parents() {
    let (stage, recorded) = stage().await;
    let (source, listener) = (stage.endpoint("a", json!({})).await, stage.deploy("b", json!({})).await);
    stage.subscribe(source.id.as_str(), listener.id.as_str(), "default").await;
    stage.webhook(HOOK).await;
    recorded.0.lock().unwrap().clear();

    let platform = &stage.world.platform;
    let request = platform.begin_request(Some(SENT)).unwrap();
    let mut admitted = stage.handle.admit(source.endpoint_key.as_str()).await.unwrap();
    admitted.continue_trace(request.context);
    stage.handle.trigger(admitted, json!({"n": 1})).await.unwrap();
    platform.end_request(&request, &Answered { method: "POST", route: "/e/{key}", status: 200 });
    stage.work().await;

    let sent = TraceContext::of_traceparent(SENT).unwrap();
    let (http, run) = (recorded.only("POST /e/{key}"), recorded.run_of(source.id.as_str()));
    assert_eq!((http.context.trace_id, http.parent), (sent.trace_id, sent.span_id));
    assert_eq!(run.parent, http.context.span_id);
    let delivered = recorded.only("deliver to source");
    assert_eq!((delivered.parent, delivered.kind), (run.context.span_id, SpanKind::Consumer));
    assert_eq!(recorded.run_of(listener.id.as_str()).parent, delivered.context.span_id);
    let spans = recorded.0.lock().unwrap().clone();
    assert!(spans.iter().all(|span| span.context.trace_id == sent.trace_id && !span.context.span_id.is_none()));
    assert!(spans.iter().all(|span| span.begun_us <= span.ended_us && span.failure.is_none()));
    // Both sources' events go to the webhook; each is told the span of its delivery.
    let told: Vec<TraceContext> = stage
        .world
        .outbound
        .posted()
        .iter()
        .map(|posting| posting.headers.iter().find(|(name, _)| name == "traceparent").unwrap().1.clone())
        .map(|header| TraceContext::of_traceparent(&header).unwrap())
        .collect();
    let posted = spans.iter().filter(|span| span.kind == SpanKind::Client).map(|span| span.context);
    assert_eq!((told.len(), posted.collect::<Vec<_>>()), (2, told.clone()));
}

#[tokio::test]
async fn a_retry_has_the_run_as_its_parent_and_tells_why() {
    let (stage, recorded) = stage().await;
    let source = stage.endpoint("a", json!({})).await;
    stage.webhook(HOOK).await;
    stage.world.outbound.answer(HOOK, 500);

    stage.post(&source, json!({})).await.unwrap();
    stage.work().await;
    let first = recorded.only("deliver to webhook");
    stage.world.outbound.answer(HOOK, 200);
    stage.world.clock.advance(10_000);
    stage.work().await;

    let run = recorded.run_of(source.id.as_str()).context.span_id;
    let second = recorded.0.lock().unwrap().last().unwrap().clone();
    assert_eq!((first.parent, second.parent), (run, run));
    assert_ne!(first.context.span_id, second.context.span_id);
    assert_eq!((first.failure.as_deref(), second.failure), (Some("failed, and is tried again"), None));
}

#[tokio::test]
async fn a_run_that_failed_says_so_and_one_that_a_use_case_caused_is_part_of_its_request() {
    let (stage, recorded) = stage().await;
    stage.world.sandbox.script("bad", |_| threw("no"));
    let source = stage.endpoint("bad", json!({})).await;
    let request = stage.world.platform.begin_request(None).unwrap();

    let run = crate::manage::sources::run(&stage.caller, &stage.world.platform, source.id.as_str(), json!({}));
    within(request.context, run).await.unwrap();

    let span = recorded.run_of(source.id.as_str());
    assert_eq!((span.context.trace_id, span.parent), (request.context.trace_id, request.context.span_id));
    assert_eq!(span.failure.as_deref(), Some("threw"));
    let logged = recorded.1.lock().unwrap().last().unwrap().clone();
    assert_eq!((logged.context, logged.level), (span.context, Level::Error), "the error is a line of the run's trace");
}

#[tokio::test]
async fn without_an_exporter_only_the_trace_of_the_client_goes_on() {
    let stage = Stage::new().await;
    let platform = &stage.world.platform;
    let source = stage.endpoint("a", json!({})).await;
    stage.webhook(HOOK).await;

    assert!(platform.begin_request(None).is_none());
    let request = platform.begin_request(Some(SENT)).unwrap();
    assert_eq!(request.context, TraceContext::of_traceparent(SENT).unwrap());
    stage.post(&source, json!({})).await.unwrap();
    let [job] = stage.lease_jobs().await.try_into().unwrap();
    assert!(!String::from_utf8_lossy(&job.payload).contains("span_id"), "nothing is kept for spans");
    stage.perform_job(&job).await;

    let posted = stage.world.outbound.posted().remove(0);
    let (_, header) = posted.headers.iter().find(|(name, _)| name == "traceparent").unwrap();
    assert_ne!(TraceContext::of_traceparent(header).unwrap().span_id, SpanId::default());
}
