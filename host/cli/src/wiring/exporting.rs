//! Spans to an OpenTelemetry collector: gathered in batches, encoded by `opentelemetry-otlp`, sent by the egress client.
//!
//! Nothing waits for the collector. What records a span puts it into a bounded channel; when that is full, or the collector
//! does not take a batch, spans are lost and counted.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use async_trait::async_trait;
use bytes::Bytes;
use metrics::{Counter, Family};
use opentelemetry::trace::{SpanContext, SpanKind as OtelKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter as OtlpExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter, SpanLinks};
use outbound::{Body, Config, Outbound, Redirect, Url};
use platform::ports::{Attribute, Span, SpanKind, Spans};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::failure::Misuse;

/// Spans that wait, some megabytes: what a busy second makes.
const WAITING: usize = 16_384;
/// In one request.
const BATCH: usize = 512;
/// How long a batch is gathered; traces are read minutes later.
const GATHERED: Duration = Duration::from_secs(1);
/// A collector that takes longer does not keep up.
const TIMEOUT: Duration = Duration::from_secs(10);
/// For what is left when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// An answer tells at most how many spans were not taken.
const ANSWER_BYTES: u64 = 64 << 10;

/// The end that takes spans.
pub(crate) struct Recording {
    sender: mpsc::Sender<Span>,
    counts: Arc<Counts>,
}

/// The end that sends them.
pub(crate) struct Exporter {
    receiver: mpsc::Receiver<Span>,
    otlp: OtlpExporter,
    counts: Arc<Counts>,
}

#[derive(Default)]
pub(crate) struct Counts {
    exported: Counter,
    dropped: Counter,
    failed: Counter,
}

/// `endpoint` is the collector's base address; spans go to `/v1/traces` below it.
pub(crate) fn open(endpoint: &str) -> Result<(Arc<Recording>, Exporter)> {
    let url = Url::parse(endpoint).ok().filter(|url| url.has_host() && ["http", "https"].contains(&url.scheme()));
    let url = url.ok_or_else(|| Misuse::of(anyhow!("`otlp_endpoint` must be an http:// or https:// address")))?;
    let host = url.host().map(|host| host.to_owned()).zip(url.port_or_known_default());
    // The operator's own choice, and mostly on a private network.
    let outbound = Outbound::new(Config { exempt_origins: host.into_iter().collect(), ..Config::default() });
    let client = Client(outbound.context("outgoing HTTP could not be set up")?);
    let mut otlp = OtlpExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", url.as_str().trim_end_matches('/')))
        .with_timeout(TIMEOUT)
        .build()
        .context("the export of traces could not be set up")?;
    otlp.set_resource(&resource());
    let (sender, receiver) = mpsc::channel(WAITING);
    let counts = Arc::<Counts>::default();
    Ok((Arc::new(Recording { sender, counts: counts.clone() }), Exporter { receiver, otlp, counts }))
}

/// `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say more, or otherwise.
fn resource() -> Resource {
    let resource = Resource::builder();
    let resource = match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name("wellspring"),
    };
    resource.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))).build()
}

// === impl Recording ===

impl Spans for Recording {
    fn record(&self, span: Span) {
        if self.sender.try_send(span).is_err() {
            self.counts.dropped.increment();
        }
    }
}

impl Recording {
    pub(crate) fn families(&self) -> Vec<Family> {
        let Counts { exported, dropped, failed } = &*self.counts;
        let help = "Spans for the OpenTelemetry collector: taken by it, not taken, or dropped before it was asked";
        let spans = Family::counter("wellspring_spans", help)
            .sample(&[("state", "exported")], exported.read())
            .sample(&[("state", "failed")], failed.read())
            .sample(&[("state", "dropped")], dropped.read());
        vec![spans]
    }
}

// === impl Exporter ===

impl Exporter {
    /// Until it is told to stop; then what is left is sent, for some seconds.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut batch = Vec::with_capacity(BATCH);
        while stop.run_until_cancelled(self.gather(&mut batch)).await.is_some() {
            self.export(&mut batch).await;
        }
        let rest = async {
            self.receiver.close();
            loop {
                self.export(&mut batch).await;
                if self.receiver.recv_many(&mut batch, BATCH).await == 0 {
                    return;
                }
            }
        };
        if tokio::time::timeout(LAST_WORDS, rest).await.is_err() {
            tracing::warn!("the server stopped before the collector had taken all spans");
        }
    }

    /// Returns with spans, when there are many or the first has waited. Cancel-safe: what was taken is in the batch.
    async fn gather(&mut self, batch: &mut Vec<Span>) {
        if batch.is_empty() && self.receiver.recv_many(batch, BATCH).await == 0 {
            return std::future::pending().await;
        }
        let more =
            async { while batch.len() < BATCH && self.receiver.recv_many(batch, BATCH - batch.len()).await > 0 {} };
        // Too late is as good as enough.
        let _ = tokio::time::timeout(GATHERED, more).await;
    }

    async fn export(&self, batch: &mut Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        let spans = batch.drain(..).map(translate).collect();
        match self.otlp.export(spans).await {
            Ok(()) => self.counts.exported.add(count),
            Err(error) => {
                self.counts.failed.add(count);
                tracing::warn!(%error, spans = count, "the OpenTelemetry collector did not take spans");
            }
        }
    }
}

fn translate(span: Span) -> SpanData {
    let at = |us: u64| UNIX_EPOCH + Duration::from_micros(us);
    let parent = span.parent.bytes();
    let id = opentelemetry::SpanId::from_bytes(span.context.span_id.bytes());
    let trace = opentelemetry::TraceId::from_bytes(span.context.trace_id.bytes());
    let attribute = |(name, value): (&'static str, Attribute)| match value {
        Attribute::Text(text) => KeyValue::new(name, text),
        Attribute::Number(number) => KeyValue::new(name, number),
    };
    SpanData {
        span_context: SpanContext::new(trace, id, TraceFlags::SAMPLED, false, TraceState::NONE),
        parent_span_id: opentelemetry::SpanId::from_bytes(parent),
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

/// The egress client, as the exporter wants one.
struct Client(Outbound);

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let mut request = outbound::Request::new(head.method.as_str(), &head.uri.to_string())?;
        let headers = head.headers.iter();
        request.headers =
            headers.map(|(name, value)| (name.to_string(), Bytes::copy_from_slice(value.as_bytes()))).collect();
        request.body = Body::from(body);
        request.redirect = Redirect::Manual;
        request.total_timeout = Some(TIMEOUT);
        request.max_response_bytes = Some(ANSWER_BYTES);
        let response = self.0.send(request).await?;
        let status = response.status;
        let body = response.body.collect(ANSWER_BYTES).await?;
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        Ok(answer)
    }
}
