//! Numbers for the operator, as OpenMetrics. Every family of the server is a field here.
//!
//! Labels come from the code and the route table, never from a request: the number of series is bounded.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
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
    requests: Family<Answered, Counter>,
    request_seconds: Family<OfRoute, Histogram>,
    stalled_polls: Family<Stalled, Counter>,
    /// Counters that are kept elsewhere.
    others: Mutex<Vec<Other>>,
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

struct Other {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> u64 + Send + Sync>,
}

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
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
            stalled_polls: Family::default(),
            others: Mutex::default(),
            connections: Gauge::default(),
        };
        metrics.register();
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

    /// A counter that is kept elsewhere, and read whenever it is shown. Its name is without `_total`.
    pub fn show(&self, name: &'static str, help: &'static str, read: impl Fn() -> u64 + Send + Sync + 'static) {
        let read = Box::new(read);
        self.others.lock().unwrap_or_else(PoisonError::into_inner).push(Other { name, help, read });
    }

    pub fn render(&self) -> String {
        let mut rendered = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut rendered, &self.registry);
        rendered.truncate(rendered.len() - END.len().min(rendered.len()));
        for Other { name, help, read } in self.others.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(rendered, "# HELP {name} {help}.\n# TYPE {name} counter\n{name}_total {}", read());
        }
        rendered + END
    }
}

#[cfg(test)]
mod tests;
