//! Tests of metrics.

use std::time::Duration;

use metrics::{Family, Histogram, MICROSECONDS};

use super::Metrics;

#[test]
fn what_was_counted_is_rendered_with_its_labels() {
    let metrics = Metrics::default();
    metrics.connections.inc();
    metrics.answered("GET", "/v1/users/me", 200, Duration::from_millis(25));
    metrics.answered("GET", "/v1/users/me", 200, Duration::from_millis(2));
    metrics.stalled("route", "/docs");

    let text = metrics.render(Vec::new());

    for line in [
        "# TYPE wellspring_http_requests counter",
        "wellspring_http_requests_total{method=\"GET\",route=\"/v1/users/me\",status=\"200\"} 2",
        "wellspring_stalled_polls_total{by=\"route\",name=\"/docs\"} 1",
        "wellspring_http_connections 1",
        "# HELP wellspring_http_connections Open connections.",
        // A duration at the bound of a bucket is in it.
        "wellspring_http_request_seconds_bucket{le=\"0.005\",route=\"/v1/users/me\"} 1",
        "wellspring_http_request_seconds_bucket{le=\"0.025\",route=\"/v1/users/me\"} 2",
        "wellspring_http_request_seconds_count{route=\"/v1/users/me\"} 2",
        "# EOF",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}

#[test]
fn what_other_parts_keep_is_read_when_it_is_shown() {
    let (metrics, count) = (Metrics::default(), std::sync::Arc::<metrics::Counter>::default());
    let read = count.clone();
    metrics.show(move || vec![Family::counter("restarts", "Restarts").sample(&[], read.read())]);
    let took = Histogram::new(&[1000, 500_000]);
    took.observe_time(Duration::from_millis(500));
    let told =
        Family::histogram("run_seconds", "Time of a run").sample(&[("trigger", "http")], took.read(MICROSECONDS));
    let size = Family::gauge("size_bytes", "Size").sample(&[], 7).sample(&[("of", "log")], 1.5);

    count.add(3);
    let text = metrics.render(vec![told, size]);

    for line in [
        "# HELP restarts Restarts.",
        "# TYPE restarts counter",
        "restarts_total 3",
        "# TYPE run_seconds histogram",
        "run_seconds_sum{trigger=\"http\"} 0.5",
        "run_seconds_bucket{le=\"0.001\",trigger=\"http\"} 0",
        "run_seconds_bucket{le=\"0.5\",trigger=\"http\"} 1",
        "run_seconds_bucket{le=\"+Inf\",trigger=\"http\"} 1",
        "size_bytes 7",
        "size_bytes{of=\"log\"} 1.5",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    assert_eq!(text.matches("# EOF").count(), 1);
}
