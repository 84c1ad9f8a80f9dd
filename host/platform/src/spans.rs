//! Spans of what the platform does: which there are, how they hang together, and what is told with them.
//!
//! A request is the parent of its run, a run that of the deliveries of its events, a delivery that of the run it causes.
//! The parent of what is queued is kept with the job. While spans are not exported none are made, and nothing is kept.

use std::future::Future;

use domain::fan_out::Cause;
use domain::ids::ListenerId;
use domain::retry::Verdict;
use domain::trace::{SpanId, TraceContext, TraceId};

use crate::Platform;
use crate::numbers::{Destination, EndedRun, SUCCESS};
use crate::ports::{LogRecord, Span, SpanKind};
use crate::records::{Delivery, LogEntry};

tokio::task_local! {
    static CURRENT: TraceContext;
}

/// A request from outside that is being answered.
pub struct RequestSpan {
    pub context: TraceContext,
    parent: SpanId,
    begun_us: u64,
}

/// What is told of a request that was answered.
pub struct Answered {
    pub method: &'static str,
    /// The template, never the path.
    pub route: &'static str,
    pub status: u16,
}

/// One attempt of a delivery. Known while it is worked on, and not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttemptSpan {
    id: SpanId,
    parent: SpanId,
    begun_us: u64,
}

/// A run that was committed, and whose it was.
pub(crate) struct RunSpan<'a> {
    pub(crate) cause: Cause,
    pub(crate) parent: SpanId,
    pub(crate) run_id: &'a str,
    /// `dc_…`, `sc_…` or `p_…`.
    pub(crate) emitter_id: &'a str,
    /// When its sandbox was done.
    pub(crate) executed_us: u64,
}

/// Runs a use case as part of a request: runs that it causes belong to the request's trace.
pub async fn within<Output>(context: TraceContext, work: impl Future<Output = Output>) -> Output {
    CURRENT.scope(context, work).await
}

// === impl Platform ===

impl Platform {
    /// Begins the span of a request, in the trace of its `traceparent` or in a new one. Without an exporter only what the
    /// client sent goes on, and a request without the header has none.
    pub fn begin_request(&self, traceparent: Option<&str>) -> Option<RequestSpan> {
        let sent = traceparent.and_then(TraceContext::of_traceparent);
        if self.telemetry.is_none() {
            let passed_on = |context: TraceContext| RequestSpan { context, parent: context.span_id, begun_us: 0 };
            return sent.map(passed_on);
        }
        let trace_id = sent.map_or_else(|| TraceId::from_random(self.entropy.bytes()), |sent| sent.trace_id);
        let context = TraceContext { trace_id, span_id: self.new_span_id() };
        Some(RequestSpan { context, parent: sent.unwrap_or_default().span_id, begun_us: self.clock.now_us() })
    }

    pub fn end_request(&self, span: &RequestSpan, answered: &Answered) {
        let Some(telemetry) = &self.telemetry else { return };
        let Answered { method, route, status } = *answered;
        telemetry.record(Span {
            context: span.context,
            parent: span.parent,
            kind: SpanKind::Server,
            name: format!("{method} {route}").into(),
            begun_us: span.begun_us,
            ended_us: self.clock.now_us(),
            attributes: vec![
                ("http.request.method", method.into()),
                ("http.route", route.into()),
                ("http.response.status_code", u64::from(status).into()),
            ],
            failure: (status >= 500).then(|| format!("answered {status}")),
        });
    }

    /// The trace that a trigger from outside begins, or that of the request which is being answered.
    pub(crate) fn outside_context(&self) -> TraceContext {
        let new = || TraceContext { trace_id: TraceId::from_random(self.entropy.bytes()), span_id: SpanId::default() };
        CURRENT.try_with(|context| *context).unwrap_or_else(|_| new())
    }

    /// None while no spans are exported.
    pub(crate) fn span_id_of_run(&self) -> Option<SpanId> {
        self.telemetry.is_some().then(|| self.new_span_id())
    }

    pub(crate) fn note_run(&self, run: &RunSpan<'_>, ended: &EndedRun<'_>) {
        self.numbers.ran(ended);
        let Some(telemetry) = &self.telemetry else { return };
        let wall_clock_us = u64::try_from(ended.usage.wall_clock.as_micros()).unwrap_or(u64::MAX);
        let waited_ms = ended.ended_at_ms.saturating_sub(ended.queued_at_ms).saturating_sub(wall_clock_us / 1000);
        telemetry.record(Span {
            context: run.cause.context(),
            parent: run.parent,
            kind: SpanKind::Internal,
            name: "run".into(),
            begun_us: run.executed_us.saturating_sub(wall_clock_us),
            ended_us: self.clock.now_us(),
            attributes: vec![
                ("wellspring.run.id", run.run_id.into()),
                ("wellspring.emitter.id", run.emitter_id.into()),
                ("wellspring.trigger", ended.trigger.as_str().into()),
                ("wellspring.outcome", ended.outcome.into()),
                ("wellspring.fuel", ended.usage.fuel.into()),
                ("wellspring.events", (ended.events as u64).into()),
                ("wellspring.queue_ms", waited_ms.into()),
            ],
            failure: (ended.outcome != SUCCESS).then(|| ended.outcome.to_owned()),
        });
    }

    /// What a run logged, to the collector as well. `context` is the span of the run.
    pub(crate) fn note_logs(&self, context: TraceContext, emitter_id: &str, lines: &[LogEntry]) {
        let Some(telemetry) = &self.telemetry else { return };
        for line in lines {
            telemetry.log(LogRecord {
                context,
                at_ms: line.at_ms,
                level: line.level,
                message: line.message.clone(),
                attributes: vec![
                    ("wellspring.run.id", line.run_id.as_str().into()),
                    ("wellspring.emitter.id", emitter_id.into()),
                ],
            });
        }
    }

    /// Begins an attempt of a delivery: what it causes has it as its parent. A webhook is told the span also when no spans
    /// are exported here.
    pub(crate) fn begin_attempt(&self, delivery: &mut Delivery) {
        if self.telemetry.is_none() && !matches!(delivery.listener, ListenerId::Webhook(_)) {
            return;
        }
        let id = self.new_span_id();
        delivery.attempt = AttemptSpan { id, parent: delivery.cause.span_id, begun_us: self.clock.now_us() };
        // Steps of a workflow are one run, which has a span of its own.
        let is_run = matches!(delivery.listener, ListenerId::Workflow(_));
        delivery.cause.span_id = if is_run { self.new_span_id() } else { id };
    }

    /// Ends an attempt of a delivery, and counts it.
    pub(crate) fn note_attempt(&self, delivery: &Delivery, destination: Destination, verdict: Option<Verdict>) {
        match verdict {
            Some(verdict) => self.numbers.delivered(destination, verdict),
            None => self.numbers.delivery_failed(destination),
        }
        let Some(telemetry) = &self.telemetry else { return };
        let AttemptSpan { id, parent, begun_us } = delivery.attempt;
        let failure = match verdict {
            Some(Verdict::Delivered) => None,
            Some(Verdict::Retry { .. }) => Some("failed, and is tried again"),
            Some(Verdict::Dead | Verdict::Deactivate) => Some("given up"),
            None => Some("failed"),
        };
        telemetry.record(Span {
            context: TraceContext { trace_id: delivery.cause.trace_id, span_id: id },
            parent,
            kind: if matches!(destination, Destination::Webhook) { SpanKind::Client } else { SpanKind::Consumer },
            name: format!("deliver to {}", destination.as_str()).into(),
            begun_us,
            ended_us: self.clock.now_us(),
            attributes: vec![
                ("wellspring.emitter.id", delivery.emitter.to_string().into()),
                ("wellspring.listener.id", delivery.listener.to_string().into()),
                ("wellspring.emit.id", delivery.event.metadata.emit_id.as_str().into()),
            ],
            failure: failure.map(str::to_owned),
        });
    }

    fn new_span_id(&self) -> SpanId {
        SpanId::from_random(self.entropy.bytes())
    }
}

// === impl AttemptSpan ===

impl AttemptSpan {
    pub(crate) fn id(self) -> SpanId {
        self.id
    }
}
