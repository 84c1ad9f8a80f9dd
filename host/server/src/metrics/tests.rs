//! Tests of metrics.

use std::time::Duration;

use super::Metrics;

#[test]
fn counters_and_gauges_are_rendered_with_their_labels() {
    let metrics = Metrics::default();
    metrics.count("requests_total", "Requests.", &[("method", "GET"), ("status", "200")], 2);
    metrics.gauge("open", "Open.", &[], 1);
    metrics.gauge("open", "Open.", &[], -1);

    assert_eq!(
        metrics.render(),
        "# HELP open Open.\n# TYPE open gauge\nopen 0\n\
         # HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total{method=\"GET\",status=\"200\"} 2\n"
    );
}

#[test]
fn a_duration_at_the_bound_of_a_bucket_is_in_it() {
    let metrics = Metrics::default();
    metrics.observe("took_seconds", "Took.", &[], Duration::from_millis(25));

    let text = metrics.render();

    assert!(text.contains("took_seconds_bucket{le=\"0.005\"} 0\ntook_seconds_bucket{le=\"0.025\"} 1\n"));
    assert!(text.ends_with("took_seconds_bucket{le=\"+Inf\"} 1\ntook_seconds_sum 0.025\ntook_seconds_count 1\n"));
}

#[test]
fn a_counter_that_is_kept_elsewhere_is_read_when_it_is_shown() {
    let (metrics, count) = (Metrics::default(), std::sync::Arc::<std::sync::atomic::AtomicU64>::default());
    let read = count.clone();
    metrics.show("restarts_total", "Restarts.", move || read.load(std::sync::atomic::Ordering::Relaxed));

    count.store(3, std::sync::atomic::Ordering::Relaxed);

    assert!(
        metrics
            .render()
            .ends_with("# HELP restarts_total Restarts.\n# TYPE restarts_total counter\nrestarts_total 3\n")
    );
}
