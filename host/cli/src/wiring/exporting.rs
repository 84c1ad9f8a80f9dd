//! Spans and log records to an OpenTelemetry collector: gathered in batches, encoded as OTLP, sent by the egress client.
//!
//! Nothing waits for the collector. What happened is put into a channel that is bounded in items and bytes; when that is
//! full, or the collector does not take a batch, it is lost and counted.

mod environment;
mod otlp;
pub(crate) mod own_log;
mod protobuf;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use bytes::Bytes;
use metrics::{Counter, Family};
use outbound::{Body, Config, Outbound, Redirect, Request, Url};
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
    client: Outbound,
    resource: Vec<(String, String)>,
    traces: Signal,
    logs: Signal,
    counts: Arc<Counts>,
}

/// Where one kind of telemetry goes, and with which headers.
struct Signal {
    url: String,
    headers: Vec<(String, String)>,
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
    let client = outbound.context("outgoing HTTP could not be set up")?;
    let base = url.as_str().trim_end_matches('/');
    let traces = Signal { url: format!("{base}/v1/traces"), headers: environment::headers("TRACES") };
    let logs = Signal { url: format!("{base}/v1/logs"), headers: environment::headers("LOGS") };
    let (sender, receiver) = mpsc::channel(WAITING);
    let counts = Arc::<Counts>::default();
    let recording = Arc::new(Recording { sender, counts: counts.clone() });
    Ok((recording, Exporter { receiver, client, resource: environment::resource(), traces, logs, counts }))
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

    /// Of what was sent, and what the collector answered.
    fn count(&self, sent: usize, what: &str, answer: Result<Bytes>) {
        let (failed, reason) = match answer {
            Ok(answer) => otlp::refused(&answer).unwrap_or_default(),
            Err(error) => (sent as u64, format!("{error:#}")),
        };
        let failed = failed.min(sent as u64);
        self.exported.add(sent as u64 - failed);
        self.failed.add(failed);
        if failed > 0 {
            tracing::warn!(error = reason, count = failed, "the OpenTelemetry collector did not take {what}");
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
                Item::Span(span) => spans.push(span),
                Item::Log(record) => {
                    self.counts.waiting_bytes.fetch_sub(record.message.len(), Ordering::Relaxed);
                    logs.push(record);
                }
            }
        }
        if !spans.is_empty() {
            let answer = self.send(&self.traces, otlp::traces(&self.resource, &spans)).await;
            self.counts.spans.count(spans.len(), "spans", answer);
        }
        if !logs.is_empty() {
            let answer = self.send(&self.logs, otlp::logs(&self.resource, &logs)).await;
            self.counts.logs.count(logs.len(), "log records", answer);
        }
    }

    /// What the collector answers to a request that it takes.
    async fn send(&self, signal: &Signal, body: Vec<u8>) -> Result<Bytes> {
        let mut request = Request::new("POST", &signal.url)?;
        let headers = signal.headers.iter().map(|(name, value)| (name.clone(), Bytes::from(value.clone())));
        let kind = ("content-type".to_owned(), Bytes::from_static(b"application/x-protobuf"));
        request.headers = headers.chain([kind]).collect();
        request.body = Body::from(Bytes::from(body));
        request.redirect = Redirect::Manual;
        request.total_timeout = Some(TIMEOUT);
        request.max_response_bytes = Some(ANSWER_BYTES);
        let response = self.client.send(request).await?;
        if !response.status.is_success() {
            bail!("it answered {}", response.status);
        }
        Ok(response.body.collect(ANSWER_BYTES).await?)
    }
}
