//! Tests of metrics.

use std::time::Duration;

use super::Metrics;

#[test]
fn what_was_counted_is_rendered_with_its_labels() {
    let metrics = Metrics::default();
    metrics.connections.inc();
    metrics.answered("GET", "/v1/users/me", 200, Duration::from_millis(25));
    metrics.answered("GET", "/v1/users/me", 200, Duration::from_millis(2));
    metrics.stalled("route", "/docs");

    let text = metrics.render();

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
fn a_counter_that_is_kept_elsewhere_is_read_when_it_is_shown() {
    let (metrics, count) = (Metrics::default(), std::sync::Arc::<std::sync::atomic::AtomicU64>::default());
    let read = count.clone();
    metrics.show("restarts", "Restarts", move || read.load(std::sync::atomic::Ordering::Relaxed));

    count.store(3, std::sync::atomic::Ordering::Relaxed);

    assert!(
        metrics.render().ends_with("# HELP restarts Restarts.\n# TYPE restarts counter\nrestarts_total 3\n# EOF\n")
    );
}
