//! Numbers for the operator, as OpenMetrics. Families of HTTP are fields here; what other parts of the host count is read
//! from them at a scrape, as [`Family`]s.
//!
//! Labels come from the code and the route table, never from a request: the number of series is bounded.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use metrics::{Family, Kind, Sample, Value};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family as Labelled;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// From a cached read to a deploy that runs hooks.
const BUCKETS_SECONDS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0, 300.0];

/// What [`Metrics::render`] is.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The last line of the format.
const END: &str = "# EOF\n";

pub struct Metrics {
    registry: Registry,
    requests: Labelled<Answered, Counter>,
    request_seconds: Labelled<OfRoute, Histogram>,
    stalled_polls: Labelled<Stalled, Counter>,
    /// Parts of the host that tell what they count.
    parts: Mutex<Vec<Part>>,
    pub(crate) connections: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: &'static str,
    status: u16,
}

/// A route, or a kind of background work.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stalled {
    by: &'static str,
    name: &'static str,
}

type Part = Box<dyn Fn() -> Vec<Family> + Send + Sync>;

/// What parts of the host told at one scrape.
#[derive(Debug)]
struct Told(Vec<Family>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    route: &'static str,
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(BUCKETS_SECONDS);
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Labelled::default(),
            request_seconds: Labelled::new_with_constructor(seconds),
            stalled_polls: Labelled::default(),
            parts: Mutex::default(),
            connections: Gauge::default(),
        };
        metrics.register();
        // A family without a series is not shown, and an alert on it could not tell "none" from "not known".
        drop(metrics.stalled_polls.get_or_create(&Stalled { by: "work", name: "run" }));
        metrics
    }
}

impl Metrics {
    /// The encoder ends each help with a full stop, and each counter's name with `_total`.
    fn register(&mut self) {
        let Self { registry, requests, request_seconds, stalled_polls, connections, .. } = self;
        registry.register("wellspring_http_requests", "Requests answered", requests.clone());
        registry.register("wellspring_http_request_seconds", "Time to the head of the answer", request_seconds.clone());
        let help = "Polls that kept a worker for 100 ms or longer";
        registry.register("wellspring_stalled_polls", help, stalled_polls.clone());
        registry.register("wellspring_http_connections", "Open connections", connections.clone());
    }

    pub(crate) fn answered(&self, method: &'static str, route: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Answered { method, route, status }).inc();
        self.request_seconds.get_or_create(&OfRoute { route }).observe(took.as_secs_f64());
    }

    pub(crate) fn stalled(&self, by: &'static str, name: &'static str) {
        self.stalled_polls.get_or_create(&Stalled { by, name }).inc();
    }

    /// Numbers that are kept elsewhere, and read whenever they are shown.
    pub fn show(&self, read: impl Fn() -> Vec<Family> + Send + Sync + 'static) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(read));
    }

    /// Everything, with `more` that was asked for at this scrape.
    pub fn render(&self, more: Vec<Family>) -> String {
        let mut families = more;
        for part in self.parts.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            families.extend(part());
        }
        let mut told = Registry::default();
        told.register_collector(Box::new(Told(Family::merged(families))));
        let mut rendered = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut rendered, &self.registry);
        rendered.truncate(rendered.len() - END.len().min(rendered.len()));
        let _ = text::encode(&mut rendered, &told);
        rendered
    }
}

// === impl Told ===

impl Collector for Told {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            // The registry would end it for a family of its own.
            let help = format!("{}.", family.help);
            let mut metric = encoder.encode_descriptor(family.name, &help, None, kind)?;
            for Sample { labels, value } in &family.samples {
                let labels = labels.as_slice();
                if labels.is_empty() {
                    encode(family.kind, value, &mut metric)?;
                } else {
                    encode(family.kind, value, &mut metric.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}

fn encode(kind: Kind, value: &Value, metric: &mut MetricEncoder<'_>) -> Result<(), fmt::Error> {
    match (kind, value) {
        (Kind::Counter, Value::Whole(count)) => metric.encode_counter::<NoLabelSet, _, u64>(count, None),
        (Kind::Counter, Value::Real(amount)) => metric.encode_counter::<NoLabelSet, _, u64>(amount, None),
        (_, Value::Whole(count)) => metric.encode_gauge(count),
        (_, Value::Real(amount)) => metric.encode_gauge(amount),
        (_, Value::Distribution { sum, count, buckets }) => {
            metric.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)
        }
    }
}

#[cfg(test)]
mod tests;
