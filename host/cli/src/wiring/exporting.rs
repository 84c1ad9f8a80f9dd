//! Spans and log records to an OpenTelemetry collector: gathered in batches, encoded by `opentelemetry-otlp`, sent by the
//! egress client.
//!
//! Nothing waits for the collector. What happened is put into a channel that is bounded in items and bytes; when that is
//! full, or the collector does not take a batch, it is lost and counted.

pub(crate) mod own_log;
mod translate;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use async_trait::async_trait;
use bytes::Bytes;
use metrics::{Counter, Family};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    LogExporter as OtlpLogs, Protocol, SpanExporter as OtlpSpans, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::logs::{LogBatch, LogExporter, SdkLogger};
use opentelemetry_sdk::trace::SpanExporter;
use outbound::{Body, Config, Outbound, Redirect, Url};
use platform::ports::{LogRecord, Span, Telemetry};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::failure::Misuse;

/// Spans and log records that wait: what a busy second makes.
const WAITING: usize = 16_384;
/// Text of log records that wait; components decide how long theirs are.
const WAITING_BYTES: usize = 8 << 20;
/// In one request.
const BATCH: usize = 512;
/// How long a batch is gathered; traces are read minutes later.
const GATHERED: Duration = Duration::from_secs(1);
/// A collector that takes longer does not keep up.
const TIMEOUT: Duration = Duration::from_secs(10);
/// For what is left when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// An answer tells at most how many were not taken.
const ANSWER_BYTES: u64 = 64 << 10;

enum Item {
    Span(Span),
    Log(LogRecord),
}

/// The end that takes what happened.
pub(crate) struct Recording {
    sender: mpsc::Sender<Item>,
    counts: Arc<Counts>,
}

/// The end that sends it.
pub(crate) struct Exporter {
    receiver: mpsc::Receiver<Item>,
    spans: OtlpSpans,
    logs: OtlpLogs,
    logger: SdkLogger,
    scope: InstrumentationScope,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    spans: Sent,
    logs: Sent,
    /// Of log records in the channel.
    waiting_bytes: AtomicUsize,
}

#[derive(Default)]
struct Sent {
    exported: Counter,
    dropped: Counter,
    failed: Counter,
}

/// `endpoint` is the collector's base address; spans go to `/v1/traces` below it, log records to `/v1/logs`.
pub(crate) fn open(endpoint: &str) -> Result<(Arc<Recording>, Exporter)> {
    let url = Url::parse(endpoint).ok().filter(|url| url.has_host() && ["http", "https"].contains(&url.scheme()));
    let url = url.ok_or_else(|| Misuse::of(anyhow!("`otlp_endpoint` must be an http:// or https:// address")))?;
    let host = url.host().map(|host| host.to_owned()).zip(url.port_or_known_default());
    // The operator's own choice, and mostly on a private network.
    let outbound = Outbound::new(Config { exempt_origins: host.into_iter().collect(), ..Config::default() });
    let client = Client(outbound.context("outgoing HTTP could not be set up")?);
    let base = url.as_str().trim_end_matches('/');
    let spans = OtlpSpans::builder().with_http().with_http_client(client.clone()).with_protocol(Protocol::HttpBinary);
    let spans = spans.with_endpoint(format!("{base}/v1/traces")).with_timeout(TIMEOUT).build();
    let mut spans = spans.context("the export of traces could not be set up")?;
    let logs = OtlpLogs::builder().with_http().with_http_client(client).with_protocol(Protocol::HttpBinary);
    let logs = logs.with_endpoint(format!("{base}/v1/logs")).with_timeout(TIMEOUT).build();
    let mut logs = logs.context("the export of logs could not be set up")?;
    let resource = resource();
    spans.set_resource(&resource);
    logs.set_resource(&resource);
    let (sender, receiver) = mpsc::channel(WAITING);
    let counts = Arc::<Counts>::default();
    let recording = Arc::new(Recording { sender, counts: counts.clone() });
    let scope = InstrumentationScope::builder("wellspring").build();
    Ok((recording, Exporter { receiver, spans, logs, logger: translate::logger(), scope, counts }))
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

impl Telemetry for Recording {
    fn record(&self, span: Span) {
        if self.sender.try_send(Item::Span(span)).is_err() {
            self.counts.spans.dropped.increment();
        }
    }

    fn log(&self, record: LogRecord) {
        let counts = &self.counts;
        let bytes = record.message.len();
        let is_room = counts.waiting_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= WAITING_BYTES;
        if !is_room || self.sender.try_send(Item::Log(record)).is_err() {
            counts.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            counts.logs.dropped.increment();
        }
    }
}

impl Recording {
    pub(crate) fn families(&self) -> Vec<Family> {
        let spans = "Spans for the OpenTelemetry collector: taken by it, not taken, or dropped before it was asked";
        let logs =
            "Log records for the OpenTelemetry collector: taken by it, not taken, or dropped before it was asked";
        vec![
            self.counts.spans.family("wellspring_spans", spans),
            self.counts.logs.family("wellspring_log_records", logs),
        ]
    }
}

// === impl Sent ===

impl Sent {
    fn family(&self, name: &'static str, help: &'static str) -> Family {
        Family::counter(name, help)
            .sample(&[("state", "exported")], self.exported.read())
            .sample(&[("state", "failed")], self.failed.read())
            .sample(&[("state", "dropped")], self.dropped.read())
    }

    fn count(&self, sent: u64, what: &str, result: Result<(), OTelSdkError>) {
        match result {
            Ok(()) => self.exported.add(sent),
            Err(error) => {
                self.failed.add(sent);
                tracing::warn!(%error, count = sent, "the OpenTelemetry collector did not take {what}");
            }
        }
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
            tracing::warn!("the server stopped before the collector had taken everything");
        }
    }

    /// Returns with items, when there are many or the first has waited. Cancel-safe: what was taken is in the batch.
    async fn gather(&mut self, batch: &mut Vec<Item>) {
        if batch.is_empty() && self.receiver.recv_many(batch, BATCH).await == 0 {
            return std::future::pending().await;
        }
        let more =
            async { while batch.len() < BATCH && self.receiver.recv_many(batch, BATCH - batch.len()).await > 0 {} };
        // Too late is as good as enough.
        let _ = tokio::time::timeout(GATHERED, more).await;
    }

    async fn export(&self, batch: &mut Vec<Item>) {
        let (mut spans, mut logs) = (Vec::new(), Vec::new());
        for item in batch.drain(..) {
            match item {
                Item::Span(span) => spans.push(translate::span(span)),
                Item::Log(record) => {
                    self.counts.waiting_bytes.fetch_sub(record.message.len(), Ordering::Relaxed);
                    logs.push(translate::log(&self.logger, record));
                }
            }
        }
        if !spans.is_empty() {
            let count = spans.len() as u64;
            self.counts.spans.count(count, "spans", self.spans.export(spans).await);
        }
        if !logs.is_empty() {
            let records: Vec<_> = logs.iter().map(|record| (record, &self.scope)).collect();
            let taken = self.logs.export(LogBatch::new(&records)).await;
            self.counts.logs.count(logs.len() as u64, "log records", taken);
        }
    }
}

/// The egress client, as the exporters want one.
#[derive(Clone)]
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
